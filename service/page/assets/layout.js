// A worker that computes the layout of a graph with dagre, so that the page stays usable meanwhile.
'use strict';
onmessage = ({data: {library, nodes, edges, down, width, height}}) => {
  importScripts(library);
  const g = new dagre.graphlib.Graph();
  g.setGraph({rankdir: down ? 'TB' : 'LR', nodesep: 14, ranksep: down ? 48 : 56, marginx: 16, marginy: 16, ranker: nodes.length > 200 ? 'longest-path' : 'network-simplex'});
  g.setDefaultEdgeLabel(() => ({}));
  // What neither needs anything nor is needed stands apart, in rows below.
  const joined = new Set(edges.flat()), single = nodes.filter(n => !joined.has(n)), many = nodes.filter(n => joined.has(n));
  for (const n of many) g.setNode(n, {width, height});
  for (const [from, to] of edges) g.setEdge(from, to);
  let w = 0, h = 0;
  if (many.length) {
    dagre.layout(g);
    ({width: w, height: h} = g.graph());
  }
  const at = {}, wide = Math.max(w, Math.ceil(Math.sqrt(single.length * 3)) * (width + 24)), columns = Math.max(1, Math.floor(wide / (width + 24)));
  for (const n of many) { const p = g.node(n); at[n] = [p.x - width / 2, p.y - height / 2]; }
  single.forEach((n, i) => { at[n] = [16 + (i % columns) * (width + 24), h + 16 + Math.floor(i / columns) * (height + 14)]; });
  const rows = Math.ceil(single.length / columns);
  postMessage({at, paths: g.edges().map(e => [e.v, e.w, g.edge(e).points.map(p => [p.x, p.y])]), w: Math.max(w, rows ? Math.min(single.length, columns) * (width + 24) + 16 : 0), h: h + rows * (height + 14) + 16});
};

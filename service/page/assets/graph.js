// Draws the graph that the list below it says in words. Zoom and moving change the viewBox, so that no style is needed.
'use strict';
(() => {
  const figure = document.getElementById('graph');
  if (!figure) return;
  const width = 172, height = 40, svgNS = 'http://www.w3.org/2000/svg';
  const make = (tag, attributes, ...children) => {
    const e = document.createElementNS(svgNS, tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    e.append(...children);
    return e;
  };
  const items = [...document.querySelectorAll('#nodes > li')].map(li => ({
    name: li.dataset.node, kind: li.dataset.kind, state: li.dataset.class, word: li.dataset.word, href: li.querySelector('a').getAttribute('href'),
    needs: [...li.querySelectorAll('[data-need]')].map(e => e.textContent),
  }));
  const edges = items.flatMap(i => i.needs.map(n => [n, i.name])), shown = new Map();
  const cut = (text, most) => text.length <= most ? text : text.slice(0, Math.ceil(most / 2) - 1) + '…' + text.slice(-Math.floor(most / 2));

  const draw = ({at, paths, w, h}) => {
    const svg = make('svg', {role: 'img', 'aria-label': `References between ${items.length} nodes; the list below says the same in words`});
    svg.append(make('defs', {}, make('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerUnits: 'userSpaceOnUse', markerWidth: 8, markerHeight: 8, orient: 'auto'}, make('path', {d: 'M0 0 8 4 0 8z'}))));
    const lines = make('g', {}), nodes = make('g', {}), touching = new Map(items.map(i => [i.name, []]));
    for (const [from, to, points] of paths) {
      const [first, ...rest] = points, last = rest.at(-1);
      let d = `M${first[0].toFixed(1)} ${first[1].toFixed(1)}`;
      for (let i = 0; i < rest.length - 1; i++) {
        const p = rest[i], q = rest[i + 1];
        d += `Q${p[0].toFixed(1)} ${p[1].toFixed(1)} ${((p[0] + q[0]) / 2).toFixed(1)} ${((p[1] + q[1]) / 2).toFixed(1)}`;
      }
      const line = make('path', {d: `${d}L${last[0].toFixed(1)} ${last[1].toFixed(1)}`, 'marker-end': 'url(#tip)'});
      touching.get(from).push(line);
      touching.get(to).push(line);
      lines.append(line);
    }
    for (const i of items) {
      const [x, y] = at[i.name];
      const name = make('text', {x: 12, y: 17}, cut(i.name, 22)), kind = make('text', {class: 'k', x: 12, y: 31}, cut(i.kind, 24));
      const dot = make('circle', {class: 's', cx: width - 13, cy: height / 2, r: 3.5}), title = make('title', {}, `${i.name}, ${i.kind}: ${i.word}`);
      const node = make('a', {href: i.href, class: i.state, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, 'data-name': i.name}, title, make('rect', {width, height, rx: 6}), name, kind, dot);
      const hot = on => { for (const l of touching.get(i.name)) l.classList.toggle('hot', on); };
      for (const [event, on] of [['pointerenter', true], ['pointerleave', false], ['focus', true], ['blur', false]]) node.addEventListener(event, () => hot(on || node.classList.contains('sel')));
      if (i.name === figure.dataset.select) { node.classList.add('sel'); hot(true); }
      shown.set(i.name, {node, title, kind: i.kind});
      nodes.append(node);
    }
    svg.append(lines, nodes);
    figure.replaceChildren(svg);

    let box = [0, 0, w, h];
    const view = () => {
      svg.setAttribute('viewBox', box.map(n => n.toFixed(1)).join(' '));
      const scale = Math.min(figure.clientWidth / box[2], figure.clientHeight / box[3]);
      svg.classList.toggle('far', scale < 0.35);
    };
    let due = 0;
    const later = () => { if (!due) due = requestAnimationFrame(() => { due = 0; view(); }); };
    const zoom = (f, x = box[0] + box[2] / 2, y = box[1] + box[3] / 2) => {
      if (box[2] * f > 8 * w + 4000 || box[2] * f < 120) return;
      box = [x - (x - box[0]) * f, y - (y - box[1]) * f, box[2] * f, box[3] * f];
      later();
    };
    const point = e => {
      const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [p.x, p.y];
    };
    const fit = () => {
      box = [0, 0, Math.max(w, figure.clientWidth * 0.8), Math.max(h, figure.clientHeight * 0.8)];
      later();
    };
    for (const b of document.querySelectorAll('[data-zoom]')) b.addEventListener('click', () => b.dataset.zoom === 'all' ? fit() : zoom(b.dataset.zoom === 'in' ? 0.75 : 1.33));
    figure.addEventListener('wheel', e => { e.preventDefault(); zoom(Math.exp(Math.sign(e.deltaY) * Math.min(Math.abs(e.deltaY), 100) / 400), ...point(e)); }, {passive: false});
    const fingers = new Map();
    let moved = 0;
    figure.addEventListener('pointerdown', e => { fingers.set(e.pointerId, [e.clientX, e.clientY]); moved = 0; });
    figure.addEventListener('pointermove', e => {
      const was = fingers.get(e.pointerId);
      if (!was) return;
      const scale = 1 / svg.getScreenCTM().a, dx = e.clientX - was[0], dy = e.clientY - was[1];
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== e.pointerId)[1], before = Math.hypot(was[0] - other[0], was[1] - other[1]), now = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
        if (now > 0 && before > 0) zoom(before / now);
      } else {
        if ((moved += Math.abs(dx) + Math.abs(dy)) > 6 && !figure.classList.contains('drag')) { figure.classList.add('drag'); figure.setPointerCapture(e.pointerId); }
        if (moved > 6) { box = [box[0] - dx * scale, box[1] - dy * scale, box[2], box[3]]; later(); }
      }
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
    });
    for (const name of ['pointerup', 'pointercancel']) figure.addEventListener(name, e => { fingers.delete(e.pointerId); figure.classList.remove('drag'); });
    figure.addEventListener('click', e => { if (moved > 6) e.preventDefault(); }, true);
    figure.addEventListener('dragstart', e => e.preventDefault());
    const chosen = shown.has(figure.dataset.select) && at[figure.dataset.select];
    if (chosen && w > figure.clientWidth * 1.2) {
      box = [chosen[0] - figure.clientWidth / 2, chosen[1] - figure.clientHeight / 2, figure.clientWidth, figure.clientHeight];
    } else fit();
    view();
    figure.dataset.drawn = items.length;

    // Nodes light up as the run goes on.
    if (figure.dataset.events) window.athanorFollow(figure.dataset.events, figure.dataset.after, e => {
      const n = e.state && shown.get(e.address);
      if (!n) return;
      n.node.classList.remove('ok', 'warn', 'bad', 'run');
      n.node.classList.add(e.state === 'on' ? 'run' : e.state);
      n.title.textContent = `${e.address}, ${n.kind}: ${e.text}`;
    }, () => { figure.dataset.ended = ''; });
  };

  const worker = new Worker(figure.dataset.worker);
  worker.onmessage = m => { worker.terminate(); draw(m.data); };
  worker.onerror = () => { figure.hidden = true; document.querySelector('.twin').open = true; };
  worker.postMessage({library: figure.dataset.library, nodes: items.map(i => i.name), edges, down: figure.dataset.down === 'true', width, height});
})();

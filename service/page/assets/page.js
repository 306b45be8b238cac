// What pages do beyond reading: filter while typing, copy, keys, and following a run. Every page can be read, filtered and
// acted on without this file. Text from the server becomes text; no markup is made of it.
'use strict';
const one = (s, e = document) => e.querySelector(s), all = (s, e = document) => [...e.querySelectorAll(s)];

for (const e of all('[data-copy], [data-script]')) e.hidden = false;
for (const b of all('[data-copy]')) b.addEventListener('click', async () => {
  await navigator.clipboard.writeText(b.dataset.copy);
  b.textContent = 'Copied';
  setTimeout(() => { b.textContent = 'Copy'; }, 1500);
});

// Parts that follow the server have an id and data-live. They are taken from the same page as it is now; what has the focus keeps
// it.
const replace = (old, now) => {
  if (old.isEqualNode(now)) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute('href'), id = focused?.id, row = focused?.closest('tr[id]')?.id;
  old.replaceWith(now);
  if (!focused) return;
  const again = id ? document.getElementById(id) : all('a', (row && document.getElementById(row)) || now).find(a => a.getAttribute('href') === href);
  again?.focus({preventScroll: true});
};
let loading = null, cost = 0, again = false, wait = 0;
const load = async () => {
  const begun = performance.now();
  try {
    const answer = await fetch(location.href, {headers: {Accept: 'text/html'}, credentials: 'same-origin', cache: 'no-store'});
    if (!answer.ok) return;
    const now = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of all('[data-live][id]')) {
      const fresh = now.getElementById(part.id);
      if (fresh) replace(part, document.adoptNode(fresh));
    }
    all('[data-script]').forEach(e => { e.hidden = false; });
  } catch { /* the next one may do */ } finally {
    loading = null;
    cost = performance.now() - begun;
    if (again) { again = false; soon(); }
  }
};
const refresh = () => {
  if (loading) again = true;
  return loading ??= load();
};
// At most four redraws a second, and never more than a fifth of the time.
const soon = () => { if (!wait) wait = setTimeout(() => { wait = 0; refresh(); }, Math.max(250, 4 * cost)); };

// follow reads the events of a run, each once: the browser asks again with the last number when the connection is cut.
const follow = (address, after, take, done) => {
  let last = Number(after);
  const source = new EventSource(`${address}?after=${last}`);
  source.addEventListener('message', m => {
    const e = JSON.parse(m.data);
    if (e.seq <= last) return;
    last = e.seq;
    take(e);
  });
  source.addEventListener('end', () => { source.close(); done(); });
  return source;
};
window.athanorFollow = follow;

const log = one('#log[data-events]');
if (log) {
  let spoken = Date.now(), said = 0;
  log.scrollTop = log.scrollHeight;
  const tick = setInterval(soon, 1000);
  follow(log.dataset.events, log.dataset.after, e => {
    const stuck = log.scrollHeight - log.scrollTop - log.clientHeight < 24, row = document.createElement('li');
    row.dataset.seq = e.seq;
    if (e.class) row.className = e.class;
    for (const [tag, text] of [['time', e.clock], ['span', e.address], ['span', e.text]]) row.append(Object.assign(document.createElement(tag), {textContent: text}));
    log.append(row);
    if (stuck) log.scrollTop = log.scrollHeight;
    said++;
    if (Date.now() - spoken > 10000) {
      one('#spoken').textContent = `${said} events; ${one('#run-head .facts')?.textContent ?? ''}`;
      spoken = Date.now(), said = 0;
    }
    soon();
  }, async () => {
    clearInterval(tick);
    while (loading) await loading; // it was asked for before the end
    await refresh();
    one('#spoken').textContent = one('#run-head h1')?.textContent ?? '';
    document.body.dataset.ended = '';
    all('.tabs .st.run').forEach(e => e.closest('a').remove());
  });
} else if ('refresh' in document.body.dataset && !one('#graph')) {
  setInterval(() => { if (!document.hidden) soon(); }, 3000);
}

// Filters: of rows that are all here, while typing; of the others the server is asked a moment after the last key.
for (const box of all('[data-filter]')) {
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean), rows = all(`#${box.dataset.filter} tbody tr:not(.grp)`);
    for (const r of rows) r.hidden = !words.every(w => (r.textContent + (r.parentNode.firstElementChild?.textContent ?? '')).toLowerCase().includes(w));
    for (const g of all(`#${box.dataset.filter} .grp`)) g.hidden = all('tr:not(.grp)', g.parentNode).every(r => r.hidden);
  };
  box.addEventListener('input', show);
  box.addEventListener('clear', show);
}
for (const box of all('[data-search]')) {
  let timer = 0;
  const ask = () => {
    const address = new URL(location.href);
    box.value ? address.searchParams.set('q', box.value) : address.searchParams.delete('q');
    address.searchParams.delete('from');
    history.replaceState(null, '', address);
    refresh();
  };
  box.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  box.addEventListener('clear', ask);
}
for (const box of all('input[type=search]')) box.addEventListener('keydown', e => {
  if (e.key !== 'Escape') return;
  box.value = '';
  box.dispatchEvent(new Event('clear'));
  box.blur();
});

// Keys, never while typing and never with a modifier. None of them writes.
let prefix = '';
const stage = document.body.dataset.stage;
const views = {s: '/', a: '/audit', ...(stage && {r: stage, g: `${stage}/graph`, p: `${stage}/plans`, h: `${stage}/history`, l: document.body.dataset.liveRun})};
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, select, textarea')) return;
  if (prefix === 'g' && views[e.key]) { location.href = views[e.key]; return; }
  prefix = prefix === 'g' ? '' : e.key === 'g' ? 'g' : '';
  if (e.key === '?') one('#keys').open = !one('#keys').open;
  if (e.key === '/') { const box = one('input[type=search]'); if (box) { e.preventDefault(); box.focus(); } }
  if (e.key === 'j' || e.key === 'k') {
    const names = all('tbody a.name, #nodes a').filter(a => a.checkVisibility()), at = names.indexOf(document.activeElement);
    names[Math.max(0, Math.min(names.length - 1, at + (e.key === 'j' ? 1 : -1)))]?.focus();
  }
});

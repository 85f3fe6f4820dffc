// Right, wrong or unsure for each tile of a page, by button or key, and a download of corrections.json.
// What was marked is kept in the browser, so that a reload loses nothing.
addEventListener('DOMContentLoaded', () => {
  const bar = document.querySelector('.review');
  const status = bar.querySelector('[role=status]');
  const tiles = [...document.querySelectorAll('.tile[data-item]')];
  const store = 'tallymark review ' + location.pathname;
  const keys = {r: 'right', w: 'wrong', u: 'unsure'};
  let marks = {};
  try {
    marks = JSON.parse(localStorage.getItem(store)) || {};
  } catch { /* a browser that keeps nothing for local pages */ }
  const name = tile => JSON.stringify([tile.dataset.item, tile.dataset.shape]);

  function show() {
    let done = 0;
    for (const tile of tiles) {
      const verdict = marks[name(tile)];
      done += Boolean(verdict);
      tile.dataset.verdict = verdict || '';
      for (const button of tile.querySelectorAll('[data-say]')) {
        button.setAttribute('aria-pressed', String(button.dataset.say === verdict));
      }
    }
    status.textContent = `${done} of ${tiles.length} reviewed`;
  }

  function mark(tile, verdict) {
    if (marks[name(tile)] === verdict) delete marks[name(tile)];
    else marks[name(tile)] = verdict;
    try {
      localStorage.setItem(store, JSON.stringify(marks));
    } catch { /* as above */ }
    show();
  }

  function corrections() {
    const items = Object.create(null);
    for (const tile of tiles) {
      const verdict = marks[name(tile)];
      if (!verdict) continue;
      const {item, number, shape, score, start, stop} = tile.dataset;
      items[item] ??= {complete: false, windows: [], predictions: [], truths: [], missed: []};
      items[item].windows.push([Number(start), Number(stop)]);
      items[item].predictions.push(
        {number: Number(number), verdict, shape: JSON.parse(shape), label: null, score: Number(score)});
    }
    const {challenge, geometry} = bar.dataset;
    return JSON.stringify({tallymark: 'corrections', version: 1, challenge, geometry, items}, null, 1);
  }

  function save() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([corrections()], {type: 'application/json'}));
    link.download = 'corrections.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function go(step) {
    const at = tiles.indexOf(document.activeElement.closest('.tile'));
    const next = tiles[at < 0 ? 0 : Math.min(Math.max(at + step, 0), tiles.length - 1)];
    next?.focus();
    next?.scrollIntoView({block: 'nearest'});
  }

  document.addEventListener('click', event => {
    if (event.target.closest('.save')) save();
    const button = event.target.closest('[data-say]');
    if (button) mark(button.closest('.tile'), button.dataset.say);
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('audio')) return;
    const key = event.key.toLowerCase();
    const tile = document.activeElement.closest('.tile');
    if (key === 'arrowright' || key === 'j') go(1);
    else if (key === 'arrowleft' || key === 'k') go(-1);
    else if (key === 's') save();
    else if (tile && keys[key]) {
      mark(tile, keys[key]);
      if (marks[name(tile)]) go(1);
    } else if (tile && key === ' ' && !event.target.closest('button')) {
      const sound = tile.querySelector('audio');
      if (sound.paused) sound.play();
      else sound.pause();
    } else return;
    event.preventDefault();
  });
  show();
});

// Keys of the page and of the viewer, and the list of them.
const PAGE_KEYS = {
  '?': ['show these keys', () => help.showModal()],
  '/': ['search', () => document.querySelector('.filters input[type=search]').focus()],
  '[': ['lower the threshold', () => stepThreshold(-1)],
  ']': ['raise the threshold', () => stepThreshold(1)],
};
const VIEWER_KEYS = {
  n: ['next', () => viewer.act('step', 1)],
  p: ['previous', () => viewer.act('step', -1)],
  j: ['next object (Tab too)', () => viewer.act('move', 1)],
  k: ['previous object', () => viewer.act('move', -1)],
  r: ['mark as right', () => viewer.act('judge', 'right')],
  w: ['mark as wrong', () => viewer.act('judge', 'wrong')],
  u: ['mark as unsure', () => viewer.act('judge', 'unsure')],
  0: ['clear the mark, or remove what was added', () => viewer.act('judge', null)],
  a: ['add a missed one', () => viewer.act('add')],
  c: ['nothing else is there: complete', () => viewer.act('complete')],
  t: ['show or hide the truth', () => toggleRole('truth')],
  d: ['show or hide predictions', () => toggleRole('prediction')],
  ' ': ['play or pause the sound', () => viewer.act('play')],
  '+': ['zoom in', () => viewer.act('zoom', 1.25)],
  '-': ['zoom out', () => viewer.act('zoom', 0.8)],
  f: ['fit the picture', () => viewer.act('fit')],
  ArrowLeft: ['pan', () => viewer.act('pan', -1, 0)],
  ArrowRight: ['', () => viewer.act('pan', 1, 0)],
  ArrowUp: ['', () => viewer.act('pan', 0, -1)],
  ArrowDown: ['', () => viewer.act('pan', 0, 1)],
};
const KEY_NAMES = {ArrowLeft: '← → ↑ ↓', ' ': 'space'};

function watchKeys() {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || help.open) return;
    if (event.target.closest('select, textarea, input:not([type=range], [type=radio]), audio')) return;
    if (event.key.startsWith('Arrow') && event.target.closest('input, .space, .sound, .viewer-side')) return;
    // The space bar presses the button that has the focus, except in the list, where the focus only selects.
    if (event.key === ' ' && !(state.scene?.sound && event.target.closest('.objects'))) return;
    const inViewer = viewer.dialog.open;
    const rank = inViewer && state.scene.ranking && event.key >= '1' && event.key <= '9' ? Number(event.key) - 1 : null;
    const key = event.key === '=' ? '+' : event.key;
    const known = (inViewer && VIEWER_KEYS[key]) || PAGE_KEYS[key];
    if (rank === null && !known) return;
    if (inViewer && key === '/') return;
    event.preventDefault();
    if (rank !== null) viewer.act('choose', rank);
    else known[1]();
  });
}

function makeHelp() {
  const rows = keys => Object.entries(keys).filter(([, [text]]) => text).map(([key, [text]]) =>
    el('div', {}, el('dt', {}, el('kbd', {}, KEY_NAMES[key] || key)), el('dd', {}, text)));
  const dialog = el('dialog', {class: 'help', 'aria-label': 'keys'},
    el('h2', {}, 'Keys'),
    el('h3', {}, 'On the page'), el('dl', {}, ...rows(PAGE_KEYS)),
    el('h3', {}, 'In the viewer'), el('dl', {}, ...rows({...VIEWER_KEYS, Esc: ['close']})),
    el('button', {type: 'button', onclick: () => dialog.close()}, 'Close'));
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  return dialog;
}

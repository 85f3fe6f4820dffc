// What became of each object at the current threshold, and how it is drawn: every outcome has a colour and a dash.
const OUTCOMES = {
  found: ['found truth', 'found truths'],
  missed: ['missed', 'missed'],
  hit: ['hit', 'hits'],
  duplicate: ['duplicate', 'duplicates'],
  localisation: ['badly placed', 'badly placed'],
  class: ['wrong class', 'wrong class'],
  background: ['false alarm', 'false alarms'],
  unknown: ['prediction', 'predictions'],
  added: ['added in review', 'added'],
};
const DRAW_ORDER = Object.fromEntries(Object.keys(OUTCOMES).map((outcome, at) => [outcome, at]));
const TRUTH_OUTCOMES = new Set(['found', 'missed']);

// The objects of a scene that the threshold leaves, in the order in which they are drawn. A truth whose hit is on the
// page is found only as long as that hit is kept, so the outcomes of truths are brought up to date.
function liveObjects(scene) {
  const shown = scene.objects.filter(isKept);
  const found = new Set(shown.filter(one => one.outcome === 'hit').map(one => one.partner));
  for (const truth of hitTruths(scene)) scene.objects[truth].outcome = found.has(truth) ? 'found' : 'missed';
  return shown.sort((a, b) => DRAW_ORDER[a.outcome] - DRAW_ORDER[b.outcome]);
}

function isKept(object) {
  return object.role === 'truth' || object.score === null || object.score >= state.threshold;
}

// Indices of the truths that have a hit, whatever the threshold.
function hitTruths(scene) {
  const isHit = one => one.outcome === 'hit' && scene.objects[one.partner]?.role === 'truth';
  scene.hitTruths ??= new Set(scene.objects.filter(isHit).map(one => one.partner));
  return scene.hitTruths;
}

function countOutcomes(objects) {
  const counts = Object.fromEntries(Object.keys(OUTCOMES).map(outcome => [outcome, 0]));
  for (const {outcome} of objects) counts[outcome] += 1;
  return counts;
}

function outcomeName(outcome, count) {
  return OUTCOMES[outcome][count === 1 ? 0 : 1];
}

// The strokes of one path: a dark casing, which is visible on any image, the line, and for some a line inside it.
function strokes(path, outcome) {
  const line = kind => svgEl('path', {d: path, class: `${kind} ${outcome}`});
  return [line('casing'), line('line'), ...(outcome === 'class' ? [line('inner')] : [])];
}

function swatch(outcome) {
  return svgEl('svg', {class: 'swatch', viewBox: '0 0 26 12', width: 26, height: 12, 'aria-hidden': 'true'},
    ...strokes('M3 6H23', outcome));
}

function className(label) {
  return label === null || label === undefined ? '' : data.classes[label] ?? String(label);
}

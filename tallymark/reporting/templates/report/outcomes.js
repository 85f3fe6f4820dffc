// What became of each object at the current threshold, and how it is drawn: every outcome has a colour and a dash.
const OUTCOMES = {
  found: ['truth that is found', 'found'],
  hit: ['hit', 'hits'],
  duplicate: ['duplicate', 'duplicates'],
  localisation: ['badly placed', 'badly placed'],
  class: ['wrong class', 'wrong class'],
  background: ['false alarm', 'false alarms'],
  missed: ['missed truth', 'missed'],
  unknown: ['prediction', 'predictions'],
  added: ['added in review', 'added'],
};
const TRUTH_OUTCOMES = new Set(['found', 'missed']);

// The objects of a scene that the threshold leaves, as {object, outcome}, in the order in which they are drawn.
function liveObjects(scene) {
  const shown = scene.objects.filter(isKept);
  const found = new Set(shown.filter(one => one.outcome === 'hit').map(one => one.partner));
  const outcomeOf = object => {
    if (object.outcome !== 'found') return object.outcome;
    // A truth whose hit is on the page is found only as long as that hit is kept.
    return !hitTruths(scene).has(object.index) || found.has(object.index) ? 'found' : 'missed';
  };
  const entries = shown.map(object => ({object, outcome: outcomeOf(object)}));
  return entries.sort((a, b) => drawOrder(a.outcome) - drawOrder(b.outcome));
}

function isKept(object) {
  return object.role === 'truth' || object.score === null || object.score >= state.threshold;
}

function hitTruths(scene) {
  scene.hitTruths ??= new Set(scene.objects.filter(one => one.outcome === 'hit').map(one => one.partner));
  return scene.hitTruths;
}

function drawOrder(outcome) {
  return Object.keys(OUTCOMES).indexOf(outcome);
}

function countOutcomes(entries) {
  const counts = Object.fromEntries(Object.keys(OUTCOMES).map(outcome => [outcome, 0]));
  for (const {outcome} of entries) counts[outcome] += 1;
  return counts;
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

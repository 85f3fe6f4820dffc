// What the reader has chosen, and who is told when it changes.
const data = {};
const state = {
  threshold: 0,
  k: 1,
  tags: new Set(),
  groups: new Set(),
  outcomes: new Set(),
  text: '',
  sort: '',
  hidden: new Set(),
  scene: null,
  selected: null,
};
const listeners = new Map();

// Topics: 'threshold', 'k', 'filters', 'marks', 'selection', 'hidden'.
function listen(topic, heard) {
  if (!listeners.has(topic)) listeners.set(topic, []);
  listeners.get(topic).push(heard);
}

function announce(topic) {
  for (const heard of listeners.get(topic) || []) heard();
}

function setThreshold(threshold) {
  const [low, high] = model.range;
  const next = Math.min(high, Math.max(low, Number(threshold)));
  if (!Number.isFinite(next) || next === state.threshold) return;
  state.threshold = next;
  announce('threshold');
}

function stepThreshold(steps) {
  const [low, high] = model.range;
  const step = niceStep((high - low) / 100);
  setThreshold(Number((Math.round(state.threshold / step + steps) * step).toPrecision(12)));
}

// The nearest of 1, 2 and 5 times a power of ten.
function niceStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5, 10].find(one => one * power >= step * 0.999);
  return factor * power;
}

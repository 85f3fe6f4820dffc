// The marks of a review: kept in the browser where it allows that, written to and read from a corrections file.
// marks: item id -> {complete, windows, predictions, truths, missed, label}; predictions and truths by number.
const marks = new Map();
const VERDICTS = {right: '✓', wrong: '✗', unsure: '?'};

function marksOf(id) {
  if (!marks.has(id)) {
    marks.set(id, {complete: false, windows: [], predictions: new Map(), truths: new Map(), missed: [], label: null});
  }
  return marks.get(id);
}

function recordsOf(own, object) {
  return {truth: own.truths, prediction: own.predictions}[object.role];
}

function verdictOf(scene, object) {
  const own = marks.get(scene.id);
  return own ? recordsOf(own, object)?.get(object.number)?.verdict ?? null : null;
}

function setVerdict(scene, object, verdict) {
  const records = recordsOf(marksOf(scene.id), object);
  if (verdict === null) records.delete(object.number);
  else {
    const record = {number: object.number, verdict, shape: object.shape, label: className(object.label) || null};
    records.set(object.number, object.role === 'truth' ? record : {...record, score: object.score});
  }
  keepMarks();
}

function addMissed(scene, shape, label) {
  marksOf(scene.id).missed.push({shape, label: className(label) || null});
  keepMarks();
}

function removeMissed(scene, at) {
  marksOf(scene.id).missed.splice(at, 1);
  keepMarks();
}

// The verdict is on the stated label; `label` is the name of the right class, null where it is not known.
function setLabel(scene, verdict, label) {
  marksOf(scene.id).label = verdict === null ? null : {verdict, label};
  keepMarks();
}

function isComplete(scene) {
  const own = marks.get(scene.id);
  if (!own) return false;
  return scene.window ? own.windows.some(window => sameWindow(window, scene.window)) : own.complete;
}

function setComplete(scene, complete) {
  const own = marksOf(scene.id);
  if (scene.window) {
    own.windows = own.windows.filter(window => !sameWindow(window, scene.window));
    if (complete) own.windows.push(scene.window);
  } else own.complete = complete;
  keepMarks();
}

function sameWindow(a, b) {
  return Math.abs(a[0] - b[0]) < 1e-6 && Math.abs(a[1] - b[1]) < 1e-6;
}

// What was added in review, as objects like those of the scene; in a recording those of the scene's window.
function addedObjects(scene) {
  const geometry = GEOMETRIES[data.geometry];
  const own = marks.get(scene.id);
  if (!own || !geometry || !scene.toItem) return [];
  const isInside = ({shape}) => !scene.window || (shape[0] >= scene.window[0] && shape[0] <= scene.window[1]);
  const added = {role: 'added', outcome: 'added', score: null, partner: null, iou: null};
  return own.missed.map((missed, number) => {
    const label = data.classes.indexOf(missed.label);
    const path = geometry.pathOf(scene, missed.shape);
    return {...added, number, path, shape: missed.shape, label: label < 0 ? null : label};
  }).filter(isInside);
}

function countMarks(own) {
  return own.predictions.size + own.truths.size + own.missed.length + (own.label ? 1 : 0);
}

function markSummary(scene) {
  const own = marks.get(scene.id);
  if (!own) return '';
  const count = countMarks(own);
  return [isComplete(scene) ? '✓ complete' : '', count ? plural(count, 'mark') : ''].filter(Boolean).join(' · ');
}

function correctionsFile() {
  const marked = [...marks].filter(([, own]) => own.complete || own.windows.length > 0 || countMarks(own) > 0);
  const items = marked.map(([id, own]) => [id, {
    complete: own.complete,
    windows: own.windows,
    predictions: [...own.predictions.values()],
    truths: [...own.truths.values()],
    missed: own.missed,
    ...(own.label ? {label: own.label} : {}),
  }]);
  const file = {tallymark: 'corrections', version: 1, challenge: data.challenge, geometry: data.geometry};
  return {...file, items: Object.fromEntries(items)};
}

// Takes the marks of a corrections file in; throws an Error that says what is wrong with it.
function readCorrections(text) {
  let file = null;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error('This is not a JSON file.');
  }
  if (file?.tallymark !== 'corrections' || !file.items) throw new Error('This is not a corrections file.');
  if (file.version !== 1) throw new Error(`Version ${file.version} of corrections is not known; version 1 is.`);
  if (file.challenge !== data.challenge) throw new Error(`It is about ${file.challenge}, not ${data.challenge}.`);
  const list = value => (Array.isArray(value) ? value.filter(one => one && typeof one === 'object') : []);
  const isKnown = record => Object.hasOwn(VERDICTS, record.verdict);
  const byNumber = records => new Map(list(records).filter(isKnown).map(one => [one.number, one]));
  for (const [id, item] of Object.entries(file.items)) {
    marks.set(id, {
      complete: item.complete === true,
      windows: list(item.windows),
      predictions: byNumber(item.predictions),
      truths: byNumber(item.truths),
      missed: list(item.missed).filter(one => GEOMETRIES[data.geometry]?.accepts(one.shape)),
      label: item.label ?? null,
    });
  }
  return Object.keys(file.items).length;
}

function marksKey() {
  return `tallymark ${data.challenge} ${data.title}`;
}

function loadMarks() {
  try {
    const kept = localStorage.getItem(marksKey());
    if (kept) readCorrections(kept);
  } catch {
    // Pages that are opened as files may have no storage: marks then last as long as the page.
  }
}

function keepMarks() {
  try {
    localStorage.setItem(marksKey(), JSON.stringify(correctionsFile()));
  } catch {
    // As above.
  }
  announce('marks');
}

// Puts the parts together. The other files only declare, so that their order does not matter.
Object.assign(data, readData());
const root = document.querySelector('.live');
const model = makeModel();
const initialThreshold = data.threshold ?? 0;
Object.assign(state, {threshold: initialThreshold, k: data.live?.k ?? 1, sort: sortings()[0].key});
loadMarks();
root.append(scorePanel(), reviewBar(), filterBar(), galleryGrid());
const viewer = makeViewer();
const help = makeHelp();
document.body.append(viewer.dialog, help);
watchKeys();
window.tallymark = {
  setThreshold,
  score: () => model.scoreAt(state.threshold),
  counts: () => model.countsAt(state.threshold),
};
followPermalink();

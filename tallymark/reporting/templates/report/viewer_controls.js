// Controls that the sound player and the 3D view share: buttons, choices and sliders, each with a name for screen readers.

const VIEWER_ICONS = {
  play: 'M4 2.5v11l9.5-5.5z',
  pause: 'M4 2.5h3v11H4zM9 2.5h3v11H9z',
  loop: 'M4 4h7V1.8L14.6 5 11 8.2V6H4.5A1.5 1.5 0 0 0 3 7.5V9H1V7a3 3 0 0 1 3-3z'
    + 'm8 8H5v2.2L1.4 11 5 7.8V10h6.5A1.5 1.5 0 0 0 13 8.5V7h2v2a3 3 0 0 1-3 3z',
  event: 'M1 2h2v12H1zm12 0h2v12h-2zM5 4.5v7L11 8z',
  volume: 'M1 5.5h3L8 2v12l-4-3.5H1zm8.5-.6a4 4 0 0 1 0 6.2V9.2a1.6 1.6 0 0 0 0-2.4zm0-3a6.6 6.6 0 0 1 0 12.2v-1.8a4.9 4.9 0 0 0 0-8.6z',
  closer: 'M7 3h2v4h4v2H9v4H7V9H3V7h4z',
  farther: 'M3 7h10v2H3z',
};

// Names of groups of radio buttons must differ between players on one page.
let viewerGroups = 0;

function viewerElement(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function viewerIcon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', VIEWER_ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon, a text or both. `label` is its name and its tooltip. */
function viewerButton(label, { icon = null, text = '', onClick }) {
  const button = viewerElement('button', 'viewer-button');
  button.type = 'button';
  button.title = label;
  button.setAttribute('aria-label', label);
  if (icon) button.append(viewerIcon(icon));
  if (text) button.append(viewerElement('span', '', text));
  button.addEventListener('click', onClick);
  return button;
}

/** Buttons of which one is pressed: a radio group, so that the arrow keys go from one to the next. */
function viewerChoice(name, choices, chosen, onChange) {
  const group = viewerElement('fieldset', 'viewer-choice');
  group.append(viewerElement('legend', '', name));
  const groupName = `viewer-choice-${++viewerGroups}`;
  for (const { value, text, label } of choices) {
    const holder = viewerElement('label');
    const input = document.createElement('input');
    input.type = 'radio';
    input.name = groupName;
    input.value = value;
    input.checked = value === chosen;
    input.setAttribute('aria-label', label);
    input.addEventListener('change', () => onChange(value));
    holder.title = label;
    holder.append(input, viewerElement('span', '', text));
    group.append(holder);
  }
  return group;
}

function viewerSlider(label, { min, max, step, value, className = '', onInput }) {
  const input = viewerElement('input', className);
  input.type = 'range';
  Object.assign(input, { min, max, step, value, title: label });
  input.setAttribute('aria-label', label);
  input.addEventListener('input', () => onInput(Number(input.value)));
  return input;
}

/** Place of an object in `scene.objects`; pages hand over copies of them, which carry it as `index`. */
function viewerIndex(scene, object) {
  return object.index ?? scene.objects?.indexOf(object) ?? -1;
}

/** Whether a key pressed now belongs to the element that has the focus, and not to the page. */
function viewerTakesKeys(element) {
  return element instanceof Element
    && Boolean(element.closest('input, select, textarea, button, summary, a[href], audio, video, [contenteditable]'));
}

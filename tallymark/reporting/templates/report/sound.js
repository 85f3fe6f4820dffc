// The player below a spectrogram: play, seek, loop, speed, pitch and volume, with a playhead over the image.

let soundInUse = null; // the player that the space bar belongs to: the one mounted or touched last

/**
 * Mount a player of `scene.sound` in `element`.
 *
 * `options.image` is the element that shows the scene; `options.selected` the index of the selected event in
 * `scene.objects`, or null; `options.around` the seconds played before and after it. The result has
 * `update(objects, selected)`, which takes the objects that are shown, `toggle()` and `destroy()`.
 */
function mountSound(element, scene, options = {}) {
  let sound;
  try {
    sound = decodeSound(scene.sound.wav);
  } catch (error) {
    const message = viewerElement('p', 'viewer-message', `The sound cannot be played. ${error.message}`);
    element.append(message);
    return { update() {}, toggle() {}, destroy: () => message.remove() };
  }
  const around = options.around ?? 1.5;
  const start = scene.window ? scene.window[0] : 0;
  const transport = new SoundTransport(sound, changed);
  const panel = viewerElement('div', 'sound-player');
  panel.setAttribute('role', 'group');
  panel.setAttribute('aria-label', 'sound');
  const playButton = viewerButton('play', { icon: 'play', onClick: toggle });
  playButton.classList.add('sound-play');
  const scrubber = viewerSlider('position', {
    min: 0, max: sound.duration, step: 0.01, value: 0, className: 'sound-position', onInput: seek,
  });
  const clock = viewerElement('output', 'sound-clock');
  clock.setAttribute('aria-live', 'off');
  const loopButton = viewerButton('loop', { icon: 'loop', onClick: () => transport.set({ loop: !transport.loop }) });
  const eventButton = viewerButton('play around the selected event', { icon: 'event', text: 'event', onClick: playEvent });
  const speeds = [1, 2, 4].map(value => ({ value, text: `${value}×`, label: `speed ${value} times, the pitch follows` }));
  const pitches = [
    { value: 0, text: '0', label: 'natural pitch' },
    { value: 1, text: '+1', label: 'one octave higher at the same speed' },
    { value: 2, text: '+2', label: 'two octaves higher at the same speed' },
  ];
  const volume = viewerElement('label', 'sound-volume');
  volume.title = 'volume; 0 dB is the level that suits this recording';
  volume.append(viewerIcon('volume'), viewerSlider('volume in decibels', {
    min: -30, max: 18, step: 1, value: 0, onInput: decibels => transport.setVolume(10 ** (decibels / 20)),
  }));
  const row = viewerElement('div', 'sound-row');
  row.append(playButton, scrubber, clock);
  const settings = viewerElement('div', 'sound-row');
  settings.append(
    viewerChoice('speed', speeds, 1, speed => transport.set({ speed })),
    viewerChoice('octaves', pitches, 0, octaves => transport.set({ octaves })),
    loopButton, eventButton, volume,
  );
  panel.append(row, settings);
  element.append(panel);
  const playhead = options.image ? new Playhead(options.image, scene, seek) : null;
  const listeners = new AbortController();
  const player = { transport, toggle };
  let shown = scene.objects ?? [];
  let selected = options.selected ?? null;
  let frame = 0;

  function toggle() {
    use();
    transport.toggle();
  }

  /** Only one player sounds, and has the space bar. */
  function use() {
    if (soundInUse && soundInUse !== player && soundInUse.transport.playing) soundInUse.transport.pause();
    soundInUse = player;
  }

  function seek(time) {
    use();
    const playing = transport.playing;
    transport.seek(time);
    if (playing) transport.play();
  }

  /** Seconds of the selected event, or null if there is none or it is hidden. */
  function eventTime() {
    const event = selected === null ? null : shown.find(object => viewerIndex(scene, object) === selected);
    if (!event) return null;
    const time = Number([event.shape].flat()[0]) - start;
    return Number.isFinite(time) ? time : null;
  }

  function playEvent() {
    const time = eventTime();
    if (time === null) return;
    use();
    transport.playSegment(time - around, time + around);
  }

  function changed() {
    const action = transport.playing ? 'pause' : 'play';
    if (playButton.dataset.action !== action) {
      playButton.dataset.action = action;
      playButton.replaceChildren(viewerIcon(action));
      playButton.title = `${action} (space)`;
      playButton.setAttribute('aria-label', action);
    }
    loopButton.setAttribute('aria-pressed', transport.loop);
    eventButton.disabled = eventTime() === null;
    draw();
    if (transport.playing && !frame) frame = requestAnimationFrame(follow);
  }

  function follow() {
    frame = 0;
    draw();
    if (transport.playing) frame = requestAnimationFrame(follow);
  }

  function draw() {
    const { time, segment } = transport;
    const whole = segment[0] === 0 && segment[1] === sound.duration;
    scrubber.value = time;
    scrubber.setAttribute('aria-valuetext', `${time.toFixed(1)} of ${sound.duration.toFixed(1)} seconds`);
    clock.textContent = `${time.toFixed(1)} / ${sound.duration.toFixed(1)} s`;
    playhead?.show(time, whole ? null : segment);
  }

  panel.addEventListener('pointerdown', use, { signal: listeners.signal });
  document.addEventListener('keydown', event => {
    const free = !viewerTakesKeys(event.target) || event.target.type === 'radio' || event.target.type === 'range';
    if (event.key !== ' ' || soundInUse !== player || !free || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) toggle();
  }, { signal: listeners.signal });

  if (!soundInUse?.transport.playing) soundInUse = player;
  changed();
  return {
    toggle,
    transport,
    update(objects = shown, chosen = selected) {
      shown = objects;
      selected = chosen ?? null;
      changed();
    },
    destroy() {
      listeners.abort();
      if (transport.playing) transport.pause();
      cancelAnimationFrame(frame);
      playhead?.destroy();
      panel.remove();
      if (soundInUse === player) soundInUse = null;
    },
  };
}

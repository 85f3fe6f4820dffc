// Plays, pauses, seeks and loops a sound through WebAudio, with its speed and pitch. It knows nothing of the page.

let sharedAudio = null; // browsers allow few contexts, and none before the reader asks for sound

function audioContext() {
  sharedAudio ??= new AudioContext({ latencyHint: 'interactive' });
  return sharedAudio;
}

/** A started source in any context, also an offline one. Times are seconds of the sound; `end` is not used in a loop. */
function startSound(context, sound, buffer, { from, begin, end, speed, loop, volume }) {
  const scale = buffer.duration / sound.duration;
  const source = new AudioBufferSourceNode(context, {
    buffer, playbackRate: speed * scale, loop, loopStart: begin * scale, loopEnd: end * scale,
  });
  const gain = new GainNode(context, { gain: sound.gain * volume });
  const limiter = new DynamicsCompressorNode(context, { threshold: -3, knee: 3, ratio: 20, attack: 0.002, release: 0.1 });
  source.connect(gain).connect(limiter).connect(context.destination);
  if (loop) source.start(0, from * scale);
  else source.start(0, from * scale, (end - from) * scale);
  return { source, gain };
}

class SoundTransport {
  /** `onChange` is called when it starts, stops or moves. */
  constructor(sound, onChange) {
    this.sound = sound;
    this.onChange = onChange;
    this.speed = 1;
    this.octaves = 0;
    this.loop = false;
    this.volume = 1;
    this.position = 0;
    this.segment = [0, sound.duration];
    this.buffers = new Map();
    this.voice = null;
  }

  get playing() {
    return this.voice !== null;
  }

  /** Seconds from the start of the sound to what is heard now. */
  get time() {
    if (!this.voice) return this.position;
    const { context, startedAt, from, begin, end, speed, loop } = this.voice;
    const heard = Math.max(0, context.currentTime - startedAt - (context.outputLatency || 0));
    const time = from + heard * speed;
    if (time < end) return time;
    return loop ? begin + (time - begin) % (end - begin) : end;
  }

  play() {
    const [begin, end] = this.segment;
    const from = this.position >= end - 0.01 || this.position < begin ? begin : this.position;
    this.release();
    const context = audioContext();
    const settings = { from, begin, end, speed: this.speed, loop: this.loop, volume: this.volume };
    const voice = { context, startedAt: context.currentTime, ...settings };
    Object.assign(voice, startSound(context, this.sound, this.buffer(), settings));
    voice.source.addEventListener('ended', () => {
      if (this.voice !== voice) return;
      this.pause();
      this.position = end;
      this.onChange();
    });
    this.voice = voice;
    context.resume();
    this.onChange();
  }

  pause() {
    this.position = this.time;
    this.release();
    sharedAudio?.suspend();
    this.onChange();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  seek(time) {
    const whole = [0, this.sound.duration];
    this.release(); // before the time changes, which is asked of the source while one plays
    this.position = Math.min(Math.max(time, 0), whole[1]);
    if (this.position < this.segment[0] || this.position > this.segment[1]) this.segment = whole;
    this.onChange();
  }

  /** Play from `begin` to `end` only, again and again if it loops. */
  playSegment(begin, end) {
    this.release();
    this.segment = [Math.max(0, begin), Math.min(this.sound.duration, end)];
    this.position = this.segment[0];
    this.play();
  }

  /** Change speed, octaves or loop; what plays goes on from where it is. */
  set(settings) {
    const playing = this.playing;
    this.position = this.time;
    Object.assign(this, settings);
    if (playing) this.play();
    else this.onChange();
  }

  setVolume(volume) {
    this.volume = volume;
    if (this.voice) this.voice.gain.gain.value = this.sound.gain * volume;
  }

  /** The stretched sound, made when it is first asked for. */
  buffer() {
    if (!this.buffers.has(this.octaves)) this.buffers.set(this.octaves, soundBuffer(this.sound, this.octaves));
    return this.buffers.get(this.octaves);
  }

  release() {
    if (!this.voice) return;
    const { source, gain } = this.voice;
    this.voice = null;
    source.stop();
    gain.disconnect();
  }
}

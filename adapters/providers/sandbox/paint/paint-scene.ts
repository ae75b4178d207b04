import { Canvas, mix, scale, smoothstep } from './canvas.js';
import { paintFigures, paintStudio } from './figures.js';
import { paintDunes, paintHill, paintMountains, type Hill } from './land.js';
import { paintFlowers, paintTrees } from './plants.js';
import { lattice } from './random.js';
import type { Frame, Scene } from './scene.js';
import { paintBirds, paintBoat, paintCity, paintHouse, paintLighthouse } from './things.js';
import { paintWater } from './water.js';
import { paintSky, paintWeather } from './sky.js';

export interface Moment {
  readonly widthPx: number;
  readonly heightPx: number;
  /** Since the first frame; 0 for a picture. */
  readonly seconds: number;
  /** From 0 at the first frame to 1 at the last. */
  readonly progress: number;
  /** A reference picture of the same size, to paint the scene in front of. */
  readonly backdrop?: Canvas | undefined;
}

/** Paints one moment of a scene, back to front. */
export function paintScene(scene: Scene, { widthPx: width, heightPx: height, backdrop, ...time }: Moment): Canvas {
  const canvas = new Canvas(width, height);
  // The sun climbs at dawn, sinks in the evening, and otherwise hardly moves.
  const climb = scene.time === 'dawn' ? -0.09 : scene.time === 'dusk' || scene.time === 'golden' ? 0.09 : -0.03;
  const frame: Frame = {
    ...scene,
    ...time,
    canvas,
    width,
    height,
    unit: Math.min(width, height),
    horizonY: Math.round(scene.horizon * height),
    sunX: (scene.lightX + 0.03 * time.progress) * width,
    sunY: (scene.lightY + climb * time.progress) * height,
    side: scene.lightX < 0.5 ? 1 : -1,
  };
  if (scene.kind === 'still life') {
    paintStudio(frame);
    if (backdrop !== undefined) canvas.blendCanvas(backdrop, () => 0.8);
    paintFigures(frame);
  } else paintLandscape(frame, backdrop);
  finish(frame);
  return canvas;
}

function paintLandscape(frame: Frame, backdrop: Canvas | undefined): void {
  const { canvas, elements } = frame;
  paintSky(frame);
  if (elements.has('mountain') || elements.has('hill') || (!elements.has('city') && !elements.has('desert')))
    paintMountains(frame);
  if (backdrop !== undefined) canvas.blendCanvas(backdrop, () => 0.82);
  if (elements.has('city')) paintCity(frame);
  if (elements.has('bird')) paintBirds(frame);
  if (elements.has('lighthouse')) paintLighthouse(frame);
  if (elements.has('boat')) paintBoat(frame);
  if (frame.figures.length > 0) paintFigures(frame);
  if (elements.has('desert')) paintDunes(frame);
  else if (elements.has('sea')) paintShore(frame);
  else paintFields(frame);
  paintWeather(frame);
}

/** Water up to a beach or a dark strip of shore in front. */
function paintShore(frame: Frame): void {
  paintWater(frame);
  const { elements, palette, random } = frame;
  if (elements.has('beach')) {
    const sand = mix([0, 0, 0], elements.get('beach') ?? [0.9, 0.79, 0.6], 0.28 + 0.72 * palette.brightness);
    const { seed } = random.fork('beach');
    paintHill(frame, { seed, level: 0.86, roll: 0.035, top: mix(sand, palette.water, 0.12), bottom: scale(sand, 0.8) });
    return;
  }
  const { seed } = random.fork('shore');
  const shore = { seed, level: 0.93, roll: 0.05, top: scale(palette.near, 0.95), bottom: scale(palette.near, 0.5) };
  paintHill(frame, shore);
  if (elements.has('house')) paintHouse(frame, { ...shore, level: 0.88 });
  if (elements.has('tree')) paintTrees(frame, shore, elements.has('lighthouse') ? 6 : 14, 0.24);
  if (elements.has('flower')) paintFlowers(frame, shore);
}

/** Three rolling hills; nearer hills are greener. */
function paintFields(frame: Frame): void {
  const { elements, palette, random, horizon } = frame;
  const { brightness, near, far, light } = palette;
  const isSnowy = elements.has('snow');
  const snow = mix(far, [0.93, 0.96, 1], 0.15 + 0.7 * brightness);
  const sunlit = mix(near, mix(elements.get('hill') ?? [0.36, 0.55, 0.27], light, 0.12), 0.14 + 0.8 * brightness);
  const lit = isSnowy ? snow : mix(scale(near, 1.1), sunlit, 0.6);
  for (let row = 0; row < 3; row += 1) {
    const top = mix(mix(lit, far, 0.55), lit, row / 2);
    const hill: Hill = {
      seed: random.fork(`hill ${row}`).seed,
      level: horizon - 0.045 + row * 0.115,
      roll: elements.has('city') ? 0.02 : 0.045,
      top: scale(top, 1.15),
      bottom: scale(top, 0.55),
    };
    paintHill(frame, hill);
    if (row === 1 && elements.has('house')) paintHouse(frame, hill);
    if (elements.has('tree')) paintTrees(frame, hill, row === 2 ? 14 : 26 - row * 8, 0.09 + 0.085 * row);
    if (row === 2 && elements.has('flower')) paintFlowers(frame, hill);
  }
}

/** Darkens the corners and adds a trace of grain. */
function finish({ canvas, width, height }: Frame): void {
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const corner = ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2) * 2;
      canvas.blend(x, y, [0, 0, 0.02], 0.34 * smoothstep(0.3, 1.1, corner));
      const grain = (lattice(x, y, 77) - 0.5) * 0.022;
      for (let at = (y * width + x) * 3, end = at + 3; at < end; at += 1) canvas.data[at]! += grain;
    }
  }
}

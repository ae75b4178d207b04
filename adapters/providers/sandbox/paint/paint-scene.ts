import { Canvas } from './canvas.js';
import { paintCity, paintHouse } from './buildings.js';
import { mix, scale, smoothstep } from './color.js';
import { paintFigures } from './figures.js';
import { frameOf, type Frame } from './frame.js';
import { paintHill, paintMountains, type Hill } from './land.js';
import { paintLighthouse } from './lighthouse.js';
import { lattice } from './random.js';
import type { Scene } from './scene.js';
import { paintSky } from './sky.js';
import { paintStillLife } from './still-life.js';
import { paintBirds, paintBoat, paintDunes, paintFlowers } from './things.js';
import { paintTrees } from './trees.js';
import { paintWater } from './water.js';
import { paintWeather } from './weather.js';

export interface Moment {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly seconds: number;
  /** 0 at the first frame, 1 at the last. */
  readonly progress: number;
  /** A reference picture of the same size, to paint the scene in front of. */
  readonly backdrop?: Canvas | undefined;
}

/** Paints one moment of a scene, back to front. The caption is not part of it. */
export function paintScene(scene: Scene, moment: Moment): Canvas {
  const canvas = new Canvas(moment.widthPx, moment.heightPx);
  const frame = frameOf(canvas, scene, moment.seconds, moment.progress);
  if (scene.kind === 'still life') {
    paintStillLife(frame);
    if (moment.backdrop !== undefined) canvas.blendCanvas(moment.backdrop, 0.8);
    paintFigures(frame);
  } else paintLandscape(frame, moment.backdrop);
  finish(frame);
  return canvas;
}

function paintLandscape(frame: Frame, backdrop: Canvas | undefined): void {
  const { canvas, scene } = frame;
  const { elements } = scene;
  paintSky(frame);
  if (elements.has('mountain') || elements.has('hill') || (!elements.has('city') && !elements.has('desert')))
    paintMountains(frame);
  if (backdrop !== undefined) canvas.blendCanvas(backdrop, 0.82);
  if (elements.has('city')) paintCity(frame);
  if (elements.has('bird')) paintBirds(frame);
  if (elements.has('lighthouse')) paintLighthouse(frame);
  if (elements.has('boat')) paintBoat(frame);
  if (scene.figures.length > 0) paintFigures(frame);
  if (elements.has('desert')) paintDunes(frame);
  else if (elements.has('sea')) paintShore(frame);
  else paintFields(frame);
  paintWeather(frame);
}

/** Water up to a dark strip of shore in front. */
function paintShore(frame: Frame): void {
  paintWater(frame);
  const { elements, palette, random } = frame.scene;
  if (elements.has('beach')) {
    const sand = mix([0, 0, 0], elements.get('beach') ?? [0.9, 0.79, 0.6], 0.28 + 0.72 * palette.brightness);
    paintHill(frame, {
      seed: random.fork('beach').seed,
      level: 0.86,
      roll: 0.035,
      top: mix(sand, palette.water, 0.12),
      bottom: scale(sand, 0.8),
    });
    return;
  }
  const shore: Hill = {
    seed: random.fork('shore').seed,
    level: 0.93,
    roll: 0.05,
    top: scale(palette.near, 0.95),
    bottom: scale(palette.near, 0.5),
  };
  paintHill(frame, shore);
  if (elements.has('house')) paintHouse(frame, { ...shore, level: 0.88 });
  if (elements.has('tree')) paintTrees(frame, shore, elements.has('lighthouse') ? 6 : 14, 0.24);
  if (elements.has('flower')) paintFlowers(frame, shore);
}

/** Three rolling hills, greener the nearer. */
function paintFields(frame: Frame): void {
  const { elements, palette, random } = frame.scene;
  const isCity = elements.has('city');
  const own = elements.get('hill');
  const snowy = elements.has('snow');
  const ground = snowy
    ? mix(palette.far, [0.93, 0.96, 1], 0.15 + 0.7 * palette.brightness)
    : (own ?? ([0.36, 0.55, 0.27] as const));
  const sunlit = mix(palette.near, mix(ground, palette.light, 0.12), 0.14 + 0.8 * palette.brightness);
  const lit = snowy ? ground : mix(scale(palette.near, 1.1), sunlit, 0.6);
  for (let row = 0; row < 3; row += 1) {
    const near = row / 2;
    const top = mix(mix(lit, palette.far, 0.55), lit, near);
    const hill: Hill = {
      seed: random.fork(`hill ${row}`).seed,
      level: frame.scene.horizon - 0.045 + row * 0.115,
      roll: isCity ? 0.02 : 0.045,
      top: scale(top, 1.15),
      bottom: scale(top, 0.55),
    };
    paintHill(frame, hill);
    if (row === 1 && elements.has('house')) paintHouse(frame, hill);
    if (elements.has('tree')) paintTrees(frame, hill, row === 2 ? 14 : 26 - row * 8, 0.09 + 0.085 * row);
    if (row === 2 && elements.has('flower')) paintFlowers(frame, hill);
  }
}

/** Darker corners and a trace of grain hold the picture together. */
function finish({ canvas, width, height }: Frame): void {
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const corner = ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2) * 2;
      canvas.blend(x, y, [0, 0, 0.02], 0.34 * smoothstep(0.3, 1.1, corner));
      const grain = (lattice(x, y, 77) - 0.5) * 0.022;
      const at = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) canvas.data[at + channel] = canvas.data[at + channel]! + grain;
    }
  }
}

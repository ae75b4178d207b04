import type { Canvas } from './canvas.js';
import type { Scene } from './scene.js';

/** One moment of a scene being painted. Lengths are in pixels unless said otherwise. */
export interface Frame {
  readonly canvas: Canvas;
  readonly scene: Scene;
  /** Seconds since the first frame; 0 for a picture. */
  readonly seconds: number;
  /** 0 at the first frame, 1 at the last. */
  readonly progress: number;
  readonly width: number;
  readonly height: number;
  /** What all sizes of things are measured by. */
  readonly unit: number;
  readonly horizonY: number;
  readonly lightX: number;
  readonly lightY: number;
}

export function frameOf(canvas: Canvas, scene: Scene, seconds: number, progress: number): Frame {
  const width = canvas.widthPx;
  const height = canvas.heightPx;
  // The sun climbs at dawn, sinks at dusk, and otherwise only wanders.
  const climb = scene.time === 'dawn' ? -0.09 : scene.time === 'dusk' || scene.time === 'golden' ? 0.09 : -0.03;
  return {
    canvas,
    scene,
    seconds,
    progress,
    width,
    height,
    unit: Math.min(width, height),
    horizonY: Math.round(scene.horizon * height),
    lightX: (scene.lightX + 0.03 * progress) * width,
    lightY: (scene.lightY + climb * progress) * height,
  };
}

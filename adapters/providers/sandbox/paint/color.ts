/** Red, green and blue, each 0 to 1, as a screen shows them. */
export type Color = readonly [red: number, green: number, blue: number];

export function hex(text: string): Color {
  const bits = Number.parseInt(text, 16);
  return [(bits >> 16) / 255, ((bits >> 8) & 255) / 255, (bits & 255) / 255];
}

export function mix(from: Color, to: Color, share: number): Color {
  return [
    from[0] + (to[0] - from[0]) * share,
    from[1] + (to[1] - from[1]) * share,
    from[2] + (to[2] - from[2]) * share,
  ];
}

/** Brighter above 1, darker below. */
export function scale(color: Color, factor: number): Color {
  return [Math.min(1, color[0] * factor), Math.min(1, color[1] * factor), Math.min(1, color[2] * factor)];
}

/** The colour on a ramp of evenly spaced stops at `position`, 0 to 1. */
export function ramp(stops: readonly Color[], position: number): Color {
  const scaled = Math.min(1, Math.max(0, position)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(scaled));
  return mix(stops[index]!, stops[index + 1]!, scaled - index);
}

export function clamp01(value: number): number {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

/** 0 below `low`, 1 above `high`, an even curve between; works either way round. */
export function smoothstep(low: number, high: number, value: number): number {
  const t = clamp01((value - low) / (high - low));
  return t * t * (3 - 2 * t);
}

import { isTerminal, type Generation } from '../../../core/generation/generation.js';

/** `Darkroom-Progress`: how much of a running generation is done, 0 to 1, where its provider says. */
export function progressHeader({ status, progress }: Generation): Readonly<Record<string, string>> {
  if (progress === undefined || isTerminal(status)) return {};
  return { 'Darkroom-Progress': String(Math.floor(progress * 1_000) / 1_000) };
}

import type { InitializeHook, LoadHook } from 'node:module';
import { MUTANTS } from './list/all.js';
import { mutated, type Mutant } from './mutant.js';
import { CONTROL } from './switch.js';

const DIST = new URL('../../../', import.meta.url).href;

let mutant: Mutant | undefined;

export const initialize: InitializeHook<{ readonly name?: string }> = ({ name }) => {
  mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant && name !== CONTROL) throw new Error(`There is no mutant ${name ?? 'named'}.`);
};

/** Hands every module on as it is, but for the one file that the mutant changes. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!mutant || url !== DIST + mutant.file) return loaded;
  const { source } = loaded;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  return { ...loaded, source: mutated(text, mutant) };
};

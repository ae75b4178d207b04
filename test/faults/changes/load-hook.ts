import type { InitializeHook, LoadHook } from 'node:module';
import { MUTANTS } from '../../simulation/mutants/list/all.js';
import { mutated, type Mutant } from '../../simulation/mutants/mutant.js';
import { QUICK_WEBHOOKS } from './quick-webhooks.js';
import { TOLD_MUTANTS } from './told-mutants.js';

const DIST = new URL('../../../', import.meta.url).href;

let changes: readonly Pick<Mutant, 'name' | 'file' | 'find' | 'replace'>[] = QUICK_WEBHOOKS;

export const initialize: InitializeHook<{ readonly mutant?: string }> = ({ mutant: name }) => {
  if (name === undefined) return;
  const mutant = [...MUTANTS, ...TOLD_MUTANTS].find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`There is no mutant ${name}.`);
  changes = [...QUICK_WEBHOOKS, mutant];
};

/** Loads every module unchanged, except the files that are to be changed. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const own = changes.filter(({ file }) => url === DIST + file);
  if (own.length === 0) return loaded;
  const { source } = loaded;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  return {
    ...loaded,
    source: own.reduce((changed, change) => mutated(changed, { breaks: [], why: '', ...change }), text),
  };
};

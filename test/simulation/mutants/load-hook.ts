import type { InitializeHook, LoadHook, ResolveHook } from 'node:module';
import { MUTANTS } from './list/all.js';
import { mutated, type Mutant } from './mutant.js';
import { CONTROL, MUTANT_PARAMETER } from './switch.js';

const DIST = new URL('../../../', import.meta.url).href;

/** The mutant of every module whose URL names none. */
let everywhere: Mutant | undefined;

export const initialize: InitializeHook<{ readonly name?: string }> = ({ name }) => {
  everywhere = name === undefined ? undefined : mutantNamed(name);
};

/** A module whose URL names a mutant imports copies of our modules with that mutant, and shared packages. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const resolved = await nextResolve(specifier, context);
  const name = nameIn(context.parentURL);
  if (name === undefined || !resolved.url.startsWith(DIST)) return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(MUTANT_PARAMETER, name);
  return { ...resolved, url: url.href };
};

/** Loads every module unchanged, except the one file that the mutant changes. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const name = nameIn(url);
  const mutant = name === undefined ? everywhere : mutantNamed(name);
  if (!mutant || url.replace(/\?.*$/u, '') !== DIST + mutant.file) return loaded;
  const { source } = loaded;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  return { ...loaded, source: mutated(text, mutant) };
};

function mutantNamed(name: string): Mutant | undefined {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant && name !== CONTROL) throw new Error(`There is no mutant ${name}.`);
  return mutant;
}

function nameIn(url: string | undefined): string | undefined {
  return url?.startsWith(DIST) ? (new URL(url).searchParams.get(MUTANT_PARAMETER) ?? undefined) : undefined;
}

import type { Json, JsonObject } from '../../../core/json.js';
import { referenceFile, type ReferenceFile } from '../../fixtures/reference-files.js';
import { sha256Of } from '../../fixtures/sha256.js';

const NAME = /@([A-Za-z][A-Za-z0-9-]*)/;

/** Puts ids and facts of files where a vector names them. A name in capitals gives the id in capitals. */
export async function resolveReferences(value: Json, ids: ReadonlyMap<string, string>): Promise<Json> {
  if (typeof value === 'string') return resolveText(value, ids);
  if (Array.isArray(value)) return Promise.all(value.map((item) => resolveReferences(item, ids)));
  if (value === null || typeof value !== 'object') return value;
  const resolved: JsonObject = {};
  for (const [name, item] of Object.entries(value)) resolved[name] = await resolveReferences(item, ids);
  return resolved;
}

export function resolveId(text: string, ids: ReadonlyMap<string, string>): string {
  return text.replace(NAME, (_, name: string) => {
    const id = ids.get(name.toLowerCase());
    if (id === undefined) throw new Error(`No such id in the fixture: ${name}`);
    return name === name.toUpperCase() ? id.toUpperCase() : id;
  });
}

async function resolveText(text: string, ids: ReadonlyMap<string, string>): Promise<Json> {
  const [kind, file] = text.split(':') as [string, ReferenceFile];
  if (kind === '@size') return (await referenceFile(file)).byteLength;
  if (kind === '@sha256') return sha256Of(await referenceFile(file));
  return resolveId(text, ids);
}

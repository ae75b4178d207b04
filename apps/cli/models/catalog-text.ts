import { parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { nearKeys } from '../../../core/catalog/find-model.js';
import { type Json, type JsonObject, memberOf } from '../../../core/json.js';
import type { Config } from '../../config/config.js';
import { SHIPPED_CATALOG } from '../../config/load-config.js';
import { printable } from '../../logging/logged-fields.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { readText } from '../changed-files.js';
import { EXIT, Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { questionsTo } from '../questions.js';
import { nameOfFile } from './installation.js';

/** The catalog file as it is. */
export interface CatalogText {
  readonly path: string;
  /** How sentences name it. */
  readonly name: string;
  /** Undefined where there is no file yet. */
  readonly text: string | undefined;
}

/** Throws one sentence for a file that cannot be read. */
export function readCatalog({ catalog: path }: Pick<Config, 'catalog'>, { folder }: CliIo): CatalogText {
  const name = nameOfFile(path, folder);
  return { path, name, text: readText(path, name) };
}

/** Throws one sentence for the catalog that comes with the program. */
export function requireOwn({ path }: CatalogText): void {
  if (path !== SHIPPED_CATALOG) return;
  throw new Failure('The catalog that comes with the program is never changed; name one of your own in darkroom.yaml.');
}

/** The models as the file has them, without the defaults; none where it cannot be read as YAML. */
export function modelsIn(text = ''): readonly JsonObject[] {
  const models = memberOf(new LocatedYaml(text).value, 'models');
  return (Array.isArray(models) ? models : []).filter((model): model is JsonObject => typeof model === 'object');
}

export function keyOf(model: JsonObject): string {
  const key = model['model_key'];
  return typeof key === 'string' ? key : '';
}

/** The place of a model in the file. Throws one sentence. */
export function indexOfModel({ name, text }: CatalogText, key: string): number {
  const keys = modelsIn(text).map(keyOf);
  const index = keys.indexOf(key);
  if (index >= 0) return index;
  const near = nearKeys(key, keys);
  const about =
    keys.length === 0
      ? 'it has none'
      : near.length > 0
        ? `similar keys are ${near.join(', ')}`
        : `its keys are ${keys.join(', ')}`;
  throw usageFailure(`${name} has no model ${printable(key)}; ${about}.`);
}

/**
 * Checks the text that a catalog is going to have by the rules of the service, and that it has exactly these models: an
 * edit never changes another one. Throws `CatalogInvalid` and one sentence.
 */
export function checkNext({ name }: CatalogText, next: string, models: readonly Json[], config: Config): void {
  parseCatalog(next, name, catalogTools(config));
  if (JSON.stringify(modelsIn(next)) !== JSON.stringify(models))
    throw new Failure(`${name} is not written in a way that this command can change; edit it by hand.`);
}

/** Throws a `Failure` unless the person at the terminal agrees, or `yes` has said so before. */
export async function confirm(io: CliIo, question: string, yes: boolean): Promise<void> {
  if (yes) return;
  const questions = questionsTo(io);
  if (questions === undefined)
    throw usageFailure('Nothing was written: there is no terminal to ask at, so --yes is needed.');
  try {
    const answer = await questions.ask(`${question} yes or no`, 'no');
    if (!/^y(?:es)?$/i.test(answer)) throw new Failure('Nothing was written.', EXIT.cancelled);
  } finally {
    questions.close();
  }
}

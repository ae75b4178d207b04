import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { isObject, type Json, memberOf } from '../../core/json.js';
import { ImportRefused, type RecordedModel, type Vendor } from './proposal.js';

/** The members that say what a model takes and gives; others, such as a count of runs, change every day. */
const PARTS: Readonly<Record<Vendor, (document: Json, id: string) => Json>> = {
  fal: (document, id) => {
    const models = memberOf(document, 'models');
    const model = Array.isArray(models)
      ? (models.find((one) => memberOf(one, 'endpoint_id') === id) ?? models[0])
      : document;
    return partsOf(memberOf(model, 'openapi') ?? model, ['paths', 'components']);
  },
  replicate: (document) => {
    const version = memberOf(document, 'latest_version') ?? document;
    return partsOf(memberOf(version, 'openapi_schema'), ['components']);
  },
  cog: (document) => partsOf(document, ['components']),
  openai: (document) => partsOf(document, ['id', 'shutdown_date']),
};

/** Members of a schema that change nothing about what is valid. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['example', 'examples', 'x-fal-metadata']);

/** `sha256:` and the digest of what a vendor says about the input and the output of a model. */
export function schemaDigest({ vendor, id, document }: Pick<RecordedModel, 'vendor' | 'id' | 'document'>): string {
  return digestOf(withoutExamples(PARTS[vendor](document, id)));
}

/** The same of any JSON value. Throws `ImportRefused` for text that is not Unicode. */
export function digestOf(value: Json): string {
  try {
    return `sha256:${hash('sha256', canonicalize(value) ?? '', 'hex')}`;
  } catch {
    throw new ImportRefused('The schema has text that is not Unicode.');
  }
}

function partsOf(document: Json | undefined, names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, memberOf(document, name) ?? null]));
}

function withoutExamples(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutExamples);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !WITHOUT_EFFECT.has(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutExamples(member)]));
}

import { type Json, memberOf } from '../../core/json.js';
import type { Options } from '../driver.js';
import { HttpError } from '../http/http-error.js';
import { connectionFault } from '../providers/shared/check-faults.js';
import { type Connection, openConnection } from '../providers/shared/connection.js';
import { MAX_DOCUMENT_BYTES, parseBounded } from './bounded-json.js';
import { ImportRefused, type RecordedModel, type Vendor, type VendorPrice } from './proposal.js';

/** A model at a vendor, and the provider of the configuration whose address and key are used. */
export interface VendorModel extends Pick<RecordedModel, 'vendor' | 'id'> {
  /** The name of the provider, for sentences. */
  readonly instance: string;
  /** Its options. */
  readonly options: Options;
  /** The variable that sets its key, for sentences. */
  readonly keyVariable: string;
  /** Whether the vendor is asked for the price too. */
  readonly needsPrice: boolean;
}

/**
 * Reads what a vendor says about a model, at the configured address alone: no address out of an answer is followed. Throws
 * `ImportRefused`, and an `Error` with one sentence for options that cannot work.
 */
export async function fetchModel(model: VendorModel, signal: AbortSignal): Promise<RecordedModel> {
  const { vendor, id, instance, options, needsPrice } = model;
  const isFal = vendor === 'fal';
  const connection = openConnection({
    options: isFal ? { ...options, base_url: options['platform_url'] ?? '' } : options,
    instance,
    ...(isFal ? { scheme: 'Key' } : {}),
  });
  try {
    const asked = { ...model, connection, signal };
    if (vendor !== 'fal') return { vendor, id, document: await ask(asked, PATHS[vendor](id)) };
    const query = new URLSearchParams({ endpoint_id: id }).toString();
    const document = await ask(asked, ['models'], `${query}&expand=openapi-3.0`);
    const models = memberOf(document, 'models');
    if (Array.isArray(models) && models.length === 0)
      throw new ImportRefused(`fal has no endpoint ${id}: compare the name with the address of the model's page.`);
    if (!needsPrice) return { vendor, id, document };
    if (!hasKey(connection)) return { vendor, id, document, missingKey: model.keyVariable };
    const price = await priceOf(asked, query);
    return { vendor, id, document, ...(price === undefined ? {} : { price }) };
  } finally {
    await connection.close();
  }
}

function hasKey({ credentials }: Connection): boolean {
  return Object.keys(credentials).length > 0;
}

/** The vendor cannot be reached, refuses the key or takes no more requests for now: other models cannot be read either. */
export class VendorUnavailable extends ImportRefused {}

/** The routes below the address of a provider. */
const PATHS: Readonly<Record<Exclude<Vendor, 'fal'>, (id: string) => readonly string[]>> = {
  replicate: (id) => {
    const [name = '', version] = id.split(':');
    return ['models', ...name.split('/'), ...(version === undefined ? [] : ['versions', version])];
  },
  cog: () => ['openapi.json'],
  openai: (id) => ['models', id],
};

interface Asked extends VendorModel {
  readonly connection: Connection;
  readonly signal: AbortSignal;
}

/** The JSON at a route. Throws `ImportRefused`. */
async function ask(asked: Asked, path: readonly string[], query?: string): Promise<Json> {
  const { connection, signal, vendor } = asked;
  const option = vendor === 'fal' ? 'platform_url' : 'base_url';
  try {
    const answer = await connection.client.request({
      method: 'GET',
      url: connection.urlOf(...path) + (query === undefined ? '' : `?${query}`),
      headers: { ...connection.credentials, accept: 'application/json' },
      signal,
      limits: { maxBodyBytes: MAX_DOCUMENT_BYTES },
    });
    if (!answer.isOk) {
      const { retryAfterMs } = answer.error('bad-answer', 'The status is not that of an answer.');
      answer.discard();
      const sentence = statusSentence(asked, answer.status, retryAfterMs);
      const isOfAll = [401, 429].includes(answer.status);
      throw isOfAll ? new VendorUnavailable(sentence) : new ImportRefused(sentence);
    }
    const text = new TextDecoder().decode(await answer.bytes());
    // A page of a proxy, or of another server.
    if (/^\s*</.test(text))
      throw new ImportRefused(`${connection.base} answers with a page, not with JSON; check ${option}.`);
    return parseBounded(text, `The answer of ${connection.base}`);
  } catch (error) {
    if (error instanceof ImportRefused) throw error;
    if (error instanceof HttpError && error.kind === 'too-large')
      throw new ImportRefused(`The answer of ${connection.base} has more than ${MAX_DOCUMENT_BYTES} bytes.`);
    if (signal.aborted)
      throw new VendorUnavailable(`${connection.base} gave no whole answer in time; try again later.`);
    throw new VendorUnavailable(connectionFault(error, connection.base, option));
  }
}

function statusSentence(
  { vendor, id, connection, keyVariable }: Asked,
  status: number,
  retryAfterMs: number | undefined,
): string {
  const { base } = connection;
  if (status === 401 || status === 403)
    return hasKey(connection)
      ? `The key is refused at ${base} (status ${status}): check ${keyVariable}, or api_key of the provider in the configuration.`
      : `${base} asks for a key, and none is set: set ${keyVariable}.`;
  if (status === 404 && vendor === 'cog') return `${base} has no /openapi.json; is it a container of Cog?`;
  if (status === 404) return `${base} has no model ${id}, or this key may not use it.`;
  if (status === 429) {
    const when = retryAfterMs === undefined ? 'later' : `in ${Math.ceil(retryAfterMs / 1_000)} s`;
    return `${base} takes no more requests for now (status 429); try again ${when}.`;
  }
  if (status >= 500) return `${base} has a fault of its own (status ${status}); try again later.`;
  return `${base} refuses to describe ${id} (status ${status}).`;
}

/** The price of an endpoint for the account of the key; undefined if fal does not state it. */
async function priceOf(asked: Asked, query: string): Promise<VendorPrice | undefined> {
  let answer: Json;
  try {
    answer = await ask(asked, ['models', 'pricing'], query);
  } catch (error) {
    if (error instanceof ImportRefused) return undefined;
    throw error;
  }
  const prices = memberOf(answer, 'prices');
  const price = Array.isArray(prices) ? prices.find((one) => memberOf(one, 'endpoint_id') === asked.id) : undefined;
  const [unitPrice, unit, currency] = ['unit_price', 'unit', 'currency'].map((name) => memberOf(price, name));
  const amount = typeof unitPrice === 'number' ? decimalText(unitPrice) : unitPrice;
  const isPrice = typeof amount === 'string' && /^\d{1,12}(?:\.\d{1,12})?$/.test(amount);
  return isPrice && typeof unit === 'string' && typeof currency === 'string'
    ? { unitPrice: amount, unit, currency }
    : undefined;
}

/** Without an exponent, as small numbers would have. */
function decimalText(value: number): string {
  return value.toFixed(12).replace(/\.?0+$/, '');
}

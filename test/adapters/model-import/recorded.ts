import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ModelShape } from '../../../adapters/catalog-file/catalog-faults.js';
import { CatalogInvalid, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { parseBounded } from '../../../adapters/model-import/bounded-json.js';
import { heldRequests } from '../../../adapters/model-import/held-requests.js';
import {
  ImportRefused,
  type Proposal,
  type RecordedModel,
  type Vendor,
} from '../../../adapters/model-import/proposal.js';
import { proposeModel } from '../../../adapters/model-import/propose-model.js';
import { readDocument } from '../../../adapters/model-import/vendor-document.js';
import { fieldsOf } from '../../../adapters/model-import/vendor-field.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import type { JsonObject } from '../../../core/json.js';
import { ROOT } from '../../docs/pages.js';
import { OPTIONS } from './vendor-answers.js';

/** Schemas of vendors beside the project, which are not part of it: their licences are those of others. */
export const RECORDED_FOLDER = join(ROOT, '../shared/model-schemas');

export const hasRecorded = (): boolean => existsSync(join(RECORDED_FOLDER, 'index.json'));

interface IndexFile {
  readonly file: string;
  readonly vendor: Vendor;
  readonly id: string;
}

export interface RecordedFile {
  readonly file: string;
  readonly text: string;
  readonly model: Omit<RecordedModel, 'document'>;
}

/** Models at fal, Replicate and Cog; the files of OpenAI are parts of its API document, not of models. */
export function recordedFiles(): readonly RecordedFile[] {
  const read = (name: string) => readFileSync(join(RECORDED_FOLDER, name), 'utf8');
  const { files } = JSON.parse(read('index.json')) as { files: readonly IndexFile[] };
  const { prices } = JSON.parse(read('prices.json')) as { prices: Readonly<Record<string, Record<string, string>>> };
  return files
    .filter(({ vendor }) => vendor !== 'openai')
    .map(({ file, vendor, id }) => {
      const { unit_price: unitPrice = '', unit = '', currency = '' } = prices[id] ?? {};
      const price = unitPrice === '' ? {} : { price: { unitPrice, unit, currency } };
      return { file, text: read(file), model: { vendor, id, ...price } };
    });
}

export interface Measured {
  readonly file: string;
  /** Whether every field of the input says which values it takes: some recordings lost the lists that fields refer to. */
  readonly isWhole: boolean;
  /** `import`: with no answer but a price; `question`: with the number of pictures, too. */
  readonly outcome: 'import' | 'question' | 'refused';
  /** Whether it was refused because clients can upload nothing but pictures. */
  readonly needsOther: boolean;
  readonly why?: string;
  readonly proposal?: Proposal;
  readonly heldCount: number;
  readonly heldFaults: readonly string[];
  readonly catalogFaults: readonly string[];
}

/** Imports one recorded model as an operator would, who knows a price and how many pictures a list takes. */
export async function measure({ file, text, model }: RecordedFile, all = false): Promise<Measured> {
  const recorded = { ...model, document: parseBounded(text) };
  const isWhole = !fieldsOf(readDocument(recorded).input).fields.some(({ isMissing }) => isMissing);
  const asked = { price: undefined as string | undefined, references: undefined as string | undefined };
  for (;;) {
    try {
      const proposal = proposeModel(recorded, {
        ...OPTIONS,
        all,
        set: asked.references === undefined ? {} : { references: asked.references },
        ...(asked.price === undefined ? {} : { price: asked.price }),
      });
      const { count, faults } = await heldRequests(proposal);
      const outcome = asked.references === undefined ? 'import' : 'question';
      const catalog = [...catalogFaultsOf(proposal.entry), ...catalogFaultsOf(withFactors(proposal))];
      return {
        file,
        isWhole,
        outcome,
        needsOther: false,
        proposal,
        heldCount: count,
        heldFaults: faults,
        catalogFaults: catalog,
      };
    } catch (error) {
      if (!(error instanceof ImportRefused)) throw error;
      const { message } = error;
      if (asked.price === undefined && message.includes('give --price')) asked.price = '5';
      else if (asked.references === undefined && message.includes('give --set references=N')) asked.references = '4';
      else {
        const needsOther = message.includes('clients upload pictures only');
        return {
          file,
          isWhole,
          outcome: 'refused',
          needsOther,
          why: message,
          heldCount: 0,
          heldFaults: [],
          catalogFaults: [],
        };
      }
    }
  }
}

/** The entry with the factors that it hints at, as an operator takes them over. */
function withFactors({ entry, hints }: Proposal): JsonObject {
  const factors = parse(hints.join('\n')) as JsonObject | null;
  return factors === null ? entry : { ...entry, price: { ...(entry['price'] as JsonObject), ...factors } };
}

const RULES = new Map(
  BUILT_IN_DRIVERS.filter((driver) => driver.kind === 'provider').map((driver) => [
    driver.name,
    (settings: JsonObject, model: ModelShape) =>
      driver.settingsFault?.(settings, { options: {}, catalogFolder: '/', ...model }),
  ]),
);
const TOOLS = { jsonSchemas: new AjvJsonSchemas(), checkSchema, providers: RULES };

/** The faults that `catalog check` finds in a catalog with this entry alone. */
export function catalogFaultsOf(entry: JsonObject): readonly string[] {
  try {
    parseCatalog(stringify({ version: 1, models: [entry] }), 'catalog.yaml', TOOLS);
    return [];
  } catch (error) {
    if (error instanceof CatalogInvalid) return error.faults;
    throw error;
  }
}

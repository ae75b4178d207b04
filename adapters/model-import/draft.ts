import type { Json, JsonObject } from '../../core/json.js';
import { shownText } from './bounded-json.js';
import { type ImportOptions, ImportRefused, type Vendor } from './proposal.js';
import type { VendorField } from './vendor-field.js';

/** The facts about the model that are known before its fields are sorted. */
export interface Subject {
  readonly vendor: Vendor;
  readonly id: string;
  readonly modality: 'image' | 'video';
  /** Whether one answer may have several outputs. */
  readonly makesList: boolean;
  /** The category of the model at fal. */
  readonly category?: string;
  /** Whether the schema requires no field at all. */
  readonly needsNothing: boolean;
  readonly options: ImportOptions;
}

/** Fields whose value nobody is asked to write into a catalog. */
const SECRET = /(?:^|_)(?:token|secret|password|credential|(?:api|access|private)_?key)s?(?:_|$)/i;

/** The entry while the rules work on it. Each field of the vendor is taken by one rule. */
export class Draft {
  /** The properties of `input_schema`, and those of them that a request must have. */
  readonly parameters = new Map<string, JsonObject>();
  readonly requiredParameters: string[] = [];
  /** The rules of `provider_settings.fields`. */
  readonly rules = new Map<string, JsonObject>();
  readonly guesses: string[] = [];
  readonly dropped: string[] = [];
  /** Parameters that may change what the vendor charges, with the words of the vendor where it names a cost. */
  readonly priced = new Map<string, string>();
  /** The rate at which seconds are counted in frames. */
  framesPerSecond: number | undefined;
  readonly #left: Map<string, VendorField>;

  constructor(
    readonly subject: Subject,
    fields: readonly VendorField[],
  ) {
    this.#left = new Map(fields.map((field) => [field.name, field]));
  }

  /** The fields that no rule has taken. */
  left(): readonly VendorField[] {
    return [...this.#left.values()];
  }

  /** The first field left whose name is one of these, in this order. */
  named(...names: readonly string[]): VendorField | undefined {
    return names.map((name) => this.#left.get(name)).find((field) => field !== undefined);
  }

  take(field: VendorField): void {
    this.#left.delete(field.name);
  }

  /** A parameter of clients, and the rule that sends it. */
  offer(field: VendorField, parameter: string, schema: JsonObject, rule: JsonObject): void {
    this.take(field);
    if (this.parameters.has(parameter)) {
      this.drop(field, `another field is offered as ${parameter}`);
      return;
    }
    this.parameters.set(parameter, schema);
    this.rules.set(field.name, { parameter, ...rule });
    const isSentAnyway = schema['default'] !== undefined || rule['draw'] === true;
    if (field.isRequired && !isSentAnyway) this.requiredParameters.push(parameter);
    const words = sentenceAbout(field.text, COSTS);
    if (words !== undefined && !SAME_COST.test(words)) this.priced.set(parameter, words);
  }

  /** For a parameter that usually does, unless the vendor says otherwise. */
  mayChangePrice({ text }: VendorField, parameter: string): void {
    const isSame = SAME_COST.test(sentenceAbout(text, COSTS) ?? '');
    if (this.parameters.has(parameter) && !this.priced.has(parameter) && !isSame) this.priced.set(parameter, '');
  }

  /** A constant that is sent with every request. */
  fix(field: VendorField, value: Json): void {
    this.take(field);
    this.rules.set(field.name, { value });
  }

  /** A field that is never sent. Throws `ImportRefused` where the vendor requires it. */
  drop(field: VendorField, why: string): void {
    this.take(field);
    if (field.isRequired && SECRET.test(field.name))
      throw new ImportRefused(`${this.subject.id} needs ${field.name}: a catalog is no place for a secret.`);
    if (field.isRequired)
      throw new ImportRefused(
        `${this.subject.id} needs a value for ${field.name} (${why}): give --set ${field.name}=… if one is right for all requests.`,
      );
    this.dropped.push(`${field.name}: ${why}`);
  }

  guess(sentence: string): void {
    if (!this.guesses.includes(sentence)) this.guesses.push(sentence);
  }
}

const COSTS = /\b(?:costs?|price|pricing|billing|billed|credits?)\b/i;
const SAME_COST = /\b(?:same regardless|no (?:extra|additional) cost|at no cost)\b/i;

/** The sentence of a text in which a word is, cut short. */
function sentenceAbout(text: string, word: RegExp): string | undefined {
  const sentence = text.split(/(?<=[.!?])\s/).find((one) => word.test(one));
  return sentence === undefined ? undefined : shownText(sentence, 160);
}

import { VENDORS, type Vendor } from '../../../adapters/model-import/proposal.js';
import { VENDOR_REFS, type VendorRef } from '../../../adapters/model-import/vendor-refs.js';
import type { JsonObject } from '../../../core/json.js';
import { printable } from '../../logging/logged-fields.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { usageFailure } from '../exit.js';

/** A model at a vendor, or a file that a kind of provider imports, as the command line names it. */
export interface ModelRef {
  /** The kind of the provider. */
  readonly kind: string;
  /** The same, if models come from the vendor's API; absent for a file. */
  readonly vendor?: Vendor;
  /** The model at the vendor, the address of a container, or the path of a file. */
  readonly id: string;
  /** Kind and id, as the catalog records them. */
  readonly text: string;
}

const IMPORTING = BUILT_IN_DRIVERS.flatMap((driver) =>
  driver.kind === 'provider' && driver.imports !== undefined ? [{ driver, imports: driver.imports }] : [],
);

const FORMS = new Map<string, VendorRef>([
  ...Object.entries(VENDOR_REFS),
  ...IMPORTING.map(({ driver, imports }): [string, VendorRef] => [
    driver.name,
    { pattern: /^.+$/, form: '<file>', example: imports.example },
  ]),
]);

/** The forms of a reference, for help and sentences; and an example of each. */
export const REF_FORMS = [...FORMS].map(([kind, { form }]) => `${kind}:${form}`);
export const REF_EXAMPLES = [...FORMS].map(([kind, { example }]) => `${kind}:${example}`);

const VENDOR_NAMES: ReadonlySet<string> = new Set(VENDORS);
const MAX_CHARACTERS = 500;

/** Reads `kind:id`, or the address of a model's page. Throws one sentence with the forms that there are. */
export function readRef(given: string): ModelRef {
  const [, prefix = '', rest = ''] = /^([a-z0-9]+):(.*)$/is.exec(refOfPage(given) ?? given) ?? [];
  const kind = prefix.toLowerCase();
  const known = FORMS.get(kind);
  if (known === undefined) throw usageFailure(`${printable(given)} does not name a model: write ${formsFor(given)}.`);
  const { pattern, form, example } = known;
  const vendor = VENDORS.find((name) => name === kind);
  const id = vendor === undefined ? rest : withoutSlash(rest);
  if (!pattern.test(id) || given.length > MAX_CHARACTERS)
    throw usageFailure(
      `${printable(given)} does not name a model of ${kind}: write ${kind}:${form}, such as ${kind}:${example}.`,
    );
  return { kind, id, text: `${kind}:${id}`, ...(vendor === undefined ? {} : { vendor }) };
}

/** The reference that the address of a page means, with a kind before it or without; undefined for other texts. */
function refOfPage(given: string): string | undefined {
  for (const [kind, { page }] of FORMS) {
    const address = given.startsWith(`${kind}:`) ? given.slice(kind.length + 1) : given;
    const [, name, version] = page?.exec(address) ?? [];
    if (name !== undefined) return `${kind}:${name}${version === undefined ? '' : `:${version}`}`;
  }
  return undefined;
}

/** The likely references if only the kind is missing, else all forms. */
function formsFor(given: string): string {
  const meant = [...FORMS].flatMap(([kind, { pattern, isAddress }]) =>
    VENDOR_NAMES.has(kind) &&
    isAddress !== true &&
    given.includes('/') &&
    pattern.test(given) &&
    given.length < MAX_CHARACTERS
      ? [`${kind}:${given}`]
      : [],
  );
  return meant.length > 0 ? meant.join(' or ') : REF_FORMS.join(', ');
}

/** Whether the vendor's server asks for a key. */
export function needsKey({ kind }: ModelRef): boolean {
  return FORMS.get(kind)?.needsKey === true;
}

/** Whether a provider of the kind at this address is one for the model. */
export function isServedAt({ kind, id }: ModelRef, address: unknown): boolean {
  if (FORMS.get(kind)?.isAddress !== true) return true;
  return typeof address === 'string' && withoutSlash(address) === id;
}

/** The section of the configuration for a new provider of the model. */
export function sectionFor({ kind, id }: ModelRef): JsonObject {
  const imported = IMPORTING.find(({ driver }) => driver.name === kind);
  return { kind, ...(FORMS.get(kind)?.isAddress === true ? { base_url: id } : imported?.imports.newOptions) };
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}

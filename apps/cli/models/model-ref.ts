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
  /** As it was given. */
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

const MAX_CHARACTERS = 500;

/** Throws one sentence with the forms that there are. */
export function readRef(text: string): ModelRef {
  const [, kind = '', id = ''] = /^([a-z0-9]+):(.*)$/s.exec(text) ?? [];
  const known = FORMS.get(kind);
  if (known === undefined)
    throw usageFailure(`${printable(text)} does not name a model: write ${REF_FORMS.join(', ')}.`);
  const { pattern, form, example, isAddress } = known;
  if (!pattern.test(id) || text.length > MAX_CHARACTERS)
    throw usageFailure(
      `${printable(text)} does not name a model of ${kind}: write ${kind}:${form}, such as ${kind}:${example}.`,
    );
  const vendor = VENDORS.find((name) => name === kind);
  return { kind, id: isAddress ? withoutSlash(id) : id, text, ...(vendor === undefined ? {} : { vendor }) };
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

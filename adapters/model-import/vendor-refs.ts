import type { Vendor } from './proposal.js';

/** The name of a vendor's model on the command line, after the vendor's name and a colon. */
export interface VendorRef {
  readonly pattern: RegExp;
  /** The form that help and messages show. */
  readonly form: string;
  readonly example: string;
  /** The address of a model's page for people, as a browser shows it: the name, and the version where it has one. */
  readonly page?: RegExp;
  /** Whether the vendor's server asks for a key. */
  readonly needsKey?: true;
  /** Whether the name is the address of a server, which is then the `base_url` of its provider. */
  readonly isAddress?: true;
}

export const VENDOR_REFS: Readonly<Record<Vendor, VendorRef>> = {
  fal: {
    pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9][A-Za-z0-9_.-]*){1,8}$/,
    form: '<endpoint>',
    example: 'fal-ai/flux/schnell',
    page: /^(?:https?:\/\/)?(?:www\.)?fal\.ai\/models\/([^?#]+?)(?:\/(?:api|playground|examples))?\/?(?:[?#].*)?$/,
    needsKey: true,
  },
  replicate: {
    pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\/[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(?::[0-9a-f]{64})?$/,
    form: '<owner>/<name>[:version]',
    example: 'black-forest-labs/flux-schnell',
    page: /^(?:https?:\/\/)?(?:www\.)?replicate\.com\/([^/?#]+\/[^/?#]+)(?:\/versions\/([0-9a-f]{64}))?(?:\/[a-z-]+)*\/?(?:[?#].*)?$/,
    needsKey: true,
  },
  cog: { pattern: /^https?:\/\/[^?#@\s]+$/, form: '<address>', example: 'http://127.0.0.1:5000', isAddress: true },
  openai: {
    pattern: /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/,
    form: '<model>',
    example: 'gpt-image-2',
    needsKey: true,
  },
};

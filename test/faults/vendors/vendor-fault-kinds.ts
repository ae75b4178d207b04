/** What can go wrong between workers and vendors, and at vendors. */
export const VENDOR_LINK_FAULTS = [
  "a vendor's link slowed",
  "a vendor's link cut",
  "a vendor's link black-holed",
  "a vendor's link that ends early",
] as const;
export const VENDOR_CALL_TROUBLES = [
  'a vendor is full',
  'a vendor fails polls',
  'a vendor fails outputs',
  'a vendor fails cancels',
  'a vendor fails uploads',
] as const;
/** Nobody learns whether a submission was taken. */
export const VENDOR_LOSSES = ['a vendor loses requests', 'a vendor loses answers'] as const;
export const VENDOR_SILENCE = 'a vendor is silent';

export type VendorFaultKind =
  | (typeof VENDOR_LINK_FAULTS)[number]
  | (typeof VENDOR_CALL_TROUBLES)[number]
  | (typeof VENDOR_LOSSES)[number]
  | typeof VENDOR_SILENCE;

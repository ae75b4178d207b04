/** What can go wrong between workers and vendors, and at vendors. */
export const VENDOR_LINK_FAULTS = [
  "a vendor's link slowed",
  "a vendor's link cut",
  "a vendor's link black-holed",
  "a vendor's link that ends early",
] as const;
export const VENDOR_TROUBLES = ['a vendor loses answers', 'a vendor loses requests', 'a vendor is full'] as const;

export type VendorFaultKind = (typeof VENDOR_LINK_FAULTS)[number] | (typeof VENDOR_TROUBLES)[number];

/** What can go wrong between workers and the receivers of webhooks, at these, and between clients and their event streams. */
export const RECEIVER_LINK_FAULTS = [
  "a receiver's link slowed",
  "a receiver's link cut",
  "a receiver's link black-holed",
  "a receiver's link that ends early",
] as const;
export const RECEIVER_TROUBLES = [
  'a receiver hangs',
  'a receiver resets',
  'a receiver fails',
  'a receiver redirects',
  'a receiver is slow',
  'a receiver is busy',
  'a receiver answers without end',
] as const;
export const STREAM_FAULTS = ['a stream slowed', 'a stream cut', 'a stream black-holed'] as const;

export type ReceiverFaultKind =
  | (typeof RECEIVER_LINK_FAULTS)[number]
  | (typeof RECEIVER_TROUBLES)[number]
  | (typeof STREAM_FAULTS)[number];

/**
 * Folders and files of core that only validate input, or only read for people: they are tested elsewhere, and crashes
 * do not affect them.
 */
const OUT_OF_SCOPE: readonly string[] = [
  'access/',
  'catalog/',
  'media/',
  'people/',
  'ports/',
  'assert',
  'errors',
  'fields',
  'index',
  'json',
  'log',
  'memory-budget',
  'paging',
  'settings',
  'waiting',
  'credits/verify',
  'generation/events',
  'generation/lasting-calls',
  'generation/queue-positions',
  'generation/quote',
  'generation/wait-for-generation',
  'generation/watch',
  'providers/list-providers',
  'usage/check-usage',
  'usage/read-usage',
  'webhooks/deliveries',
  'webhooks/manage-endpoints',
];

/** Whether a place such as `core/paging.ts:12` is in one of them. */
export function isOutOfScope(place: string): boolean {
  return OUT_OF_SCOPE.some((name) => place.startsWith(`core/${name}${name.endsWith('/') ? '' : '.ts'}`));
}

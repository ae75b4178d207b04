import type { Finding } from '../../history/finding.js';
import type { History } from './history.js';
import { Known } from './known.js';
import { checkAccess } from './rules/access.js';
import { checkAnswers } from './rules/answers.js';
import { checkAttributions } from './rules/attributions.js';
import { checkBalances, checkBooks } from './rules/books.js';
import { checkCancels } from './rules/cancels.js';
import { checkCaps } from './rules/caps.js';
import { checkCharges } from './rules/charges.js';
import { checkEnds } from './rules/ends.js';
import { checkKeys } from './rules/keys.js';
import { checkDelivered } from './rules/outputs.js';
import { checkRefusals } from './rules/refusals.js';
import { checkRest } from './rules/rest.js';
import { checkForeignIds } from './rules/foreign-ids.js';
import { checkStreams } from './rules/streams.js';
import { checkUploads } from './rules/uploads.js';
import { checkVendors } from './rules/vendors.js';
import { checkViews } from './rules/views.js';
import { checkWebhooks } from './rules/webhooks.js';

const RULES = [
  checkBooks,
  checkAttributions,
  checkBalances,
  checkCharges,
  checkCaps,
  checkViews,
  checkCancels,
  checkKeys,
  checkRefusals,
  checkUploads,
  checkDelivered,
  checkForeignIds,
  checkAccess,
  checkAnswers,
  checkRest,
  checkEnds,
  checkVendors,
  checkWebhooks,
  checkStreams,
];

/**
 * Everything in a history that contradicts what was promised. Pure, and shares no code with the program: it knows what
 * clients saw and when, what the operator finds at rest, and the contract. What the simulation can see as well is a rule
 * of `test/history`. The files here gather what these rules need by the times of clients, for which the simulation has
 * the exact order of events, and check what only real processes show: bursts, troubles and files as they are fetched.
 */
export function checkHistory(history: History): Finding[] {
  const known = new Known(history);
  return RULES.flatMap((check) => [...check(known)]);
}

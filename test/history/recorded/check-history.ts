import type { Finding } from '../finding.js';
import type { History } from './history.js';
import { type Expected, Known } from './known.js';
import { checkCancels, checkDelivered, checkEnds, checkUploads, checkViews } from './rules/generations.js';
import { checkAttributions, checkBalances, checkBooks, checkCaps, checkCharges } from './rules/money.js';
import { checkAccess, checkAnswers, checkForeignIds, checkKeys, checkRefusals, checkRest } from './rules/requests.js';
import { checkStreams } from './rules/streams.js';
import { checkVendors } from './rules/vendors.js';
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
 * Returns everything in a history that contradicts the guarantees. Pure, and shares no code with the program: its
 * inputs are what clients saw and when, what the operator finds at rest, and the contract. Checks that the simulation
 * can make as well are in the folder above. The files here collect the inputs of these checks by the times of clients,
 * where the simulation has the exact order of events, and check what only real processes show: bursts, troubles and
 * files as they are fetched.
 */
export function checkHistory(history: History, expected: Expected): Finding[] {
  const known = new Known(history, expected);
  return RULES.flatMap((check) => [...check(known)]);
}

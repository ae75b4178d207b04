import type { Document } from 'mongodb';
import { uuidOf } from './uuid-binary.js';

/**
 * Open holds held before a time, oldest first, after the one a cursor names. The index finds the accounts that have such a
 * hold and no others; their holds are then sorted, and no more of them kept than are asked for. Null for a cursor that is none.
 */
export function oldHoldsPipeline(heldBefore: number, cursor: string | undefined, limit: number): Document[] | null {
  const after = cursor === undefined ? { from: -Infinity, match: {} } : afterHold(cursor);
  if (after === null) return null;
  return [
    { $match: { holds: { $elemMatch: { heldAt: { $gte: after.from, $lt: heldBefore } } } } },
    { $project: { hold: '$holds' } },
    { $unwind: '$hold' },
    { $match: { 'hold.heldAt': { $lt: heldBefore }, ...after.match } },
    { $sort: { 'hold.heldAt': 1, _id: 1, 'hold.generation': 1 } },
    { $limit: limit },
  ];
}

function afterHold(cursor: string): { readonly from: number; readonly match: Document } | null {
  const [time = '', accountId = '', generationId = ''] = cursor.split('/');
  const [heldAt, account, generation] = [Number(time), uuidOf(accountId), uuidOf(generationId)];
  if (!Number.isSafeInteger(heldAt) || account === null || generation === null) return null;
  const later = [
    { 'hold.heldAt': { $gt: heldAt } },
    { 'hold.heldAt': heldAt, _id: { $gt: account } },
    { 'hold.heldAt': heldAt, _id: account, 'hold.generation': { $gt: generation } },
  ];
  return { from: heldAt, match: { $or: later } };
}

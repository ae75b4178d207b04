import type { Document } from 'mongodb';

export interface Deployment {
  /** Whether a majority of servers can be asked for. */
  readonly isReplicated: boolean;
  /**
   * Whether a change stream tells of a write soon. A router's stream tells in the order of all shards: a write of one waits
   * until every other shard has written too, or after ten seconds has noted that it did not.
   */
  readonly tellsSoon: boolean;
  /**
   * Whether one command writes to several collections in order, and one log holds all of it, so that a crash leaves a
   * prefix: a member of a replica set from release 8.0 on, but no router, which sends each write to a shard of its own.
   */
  readonly ordersWrites: boolean;
}

/** Of release 8.0, the first with the command `bulkWrite`. */
const WIRE_VERSION_OF_BULK_WRITE = 25;

/** Of the answer to `hello`. Only members of a replica set have a name for it, and only a router answers with this message. */
export function deploymentOf(hello: Document): Deployment {
  const isRouter = hello['msg'] === 'isdbgrid';
  const isMember = hello['setName'] !== undefined;
  const isAlone = isMember && !isRouter;
  const ordersWrites = isAlone && Number(hello['maxWireVersion']) >= WIRE_VERSION_OF_BULK_WRITE;
  return { isReplicated: isMember || isRouter, tellsSoon: isAlone, ordersWrites };
}

import type { Document } from 'mongodb';

export interface Deployment {
  /** Whether a majority of servers can be asked for. */
  readonly isReplicated: boolean;
  /**
   * Whether a change stream tells of a write soon. A router's stream tells in the order of all shards: a write of one waits
   * until every other shard has written too, or after ten seconds has noted that it did not.
   */
  readonly tellsSoon: boolean;
}

/** Of the answer to `hello`. Only members of a replica set have a name for it, and only a router answers with this message. */
export function deploymentOf(hello: Document): Deployment {
  const isRouter = hello['msg'] === 'isdbgrid';
  const isMember = hello['setName'] !== undefined;
  return { isReplicated: isMember || isRouter, tellsSoon: isMember && !isRouter };
}

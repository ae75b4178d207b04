/**
 * One life of a process, from its start to its end. Leases and claims carry its id.
 *
 * `isExclusive` says that the stores of generations and claims have one process at a time that takes leases and claims, this
 * one, and that whoever had them before is gone. Only a driver can know that, by a lock on the very store that ends with its
 * process. Then nobody waits for what an earlier boot left to lapse.
 *
 * What depends on it is only who waits for whom. Were it said wrongly, two processes would take generations and keys from
 * each other, and some would come to nothing; but every fence would still grow, every write would still name its version,
 * and an id would still be ruled out before another is minted. So nothing would be charged twice or more than was held. Nor
 * would a provider be handed an attempt again: one whose submission may be on its way is waited for all the same.
 */
export interface Boot {
  /** A UUID that no other boot has. */
  readonly id: string;
  readonly isExclusive: boolean;
}

/** Whether what carries this boot id was left by a process that is gone. Releases before this one wrote no id. */
export function isLeftByAnother(boot: Boot, bootId: string | undefined): boolean {
  return boot.isExclusive && bootId !== boot.id;
}

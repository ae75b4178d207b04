const PREFIX = 'operator';
const OURS = /^operator:([0-9a-f-]{36}):[0-9a-f-]{36}$/;

/**
 * The id of a grant or an adjustment in the ledger: it names the operator for good, and one operator's page takes no id of
 * another's, or of the command line's. Clients are not shown it.
 */
export function operationIdOf(personId: string, sentId: string): string {
  return `${PREFIX}:${personId}:${sentId.toLowerCase()}`;
}

/** The person who made the entry in the operator's area; undefined for all other entries. */
export function operatorOf(operationId: string | undefined): string | undefined {
  return OURS.exec(operationId ?? '')?.[1];
}

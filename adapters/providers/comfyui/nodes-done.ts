import { isObject } from './workflow.js';

/** How much of a graph has run: each node counts the same. */
export class NodesDone {
  private readonly finished = new Set<string>();
  private highest: number | undefined;

  constructor(private readonly nodes: number) {}

  /** From 0 to just under 1; undefined before the first event. */
  get share(): number | undefined {
    return this.highest;
  }

  /** A message of the server about this task; others, and what cannot be read, change nothing. */
  hear(message: unknown): void {
    if (!isObject(message) || !isObject(message['data'])) return;
    const { type, data } = message;
    const { nodes } = data as { readonly nodes?: unknown };
    let underWay = 0;
    if (type === 'execution_cached' && Array.isArray(nodes)) this.note(nodes);
    else if (type === 'progress_state' && isObject(nodes)) underWay = this.noteStates(nodes);
    else return;
    const share = Math.min((this.finished.size + underWay) / Math.max(1, this.nodes), 0.99);
    this.highest = Math.max(this.highest ?? 0, share);
  }

  private note(nodes: readonly unknown[]): void {
    for (const node of nodes) if (typeof node === 'string' && this.finished.size < this.nodes) this.finished.add(node);
  }

  /** Returns the completed shares of nodes that have started and not finished. */
  private noteStates(nodes: Readonly<Record<string, unknown>>): number {
    let parts = 0;
    for (const [id, node] of Object.entries(nodes)) {
      const { state, value, max } = isObject(node) ? node : {};
      if (state === 'finished') this.note([id]);
      else if (state === 'running' && typeof value === 'number' && typeof max === 'number' && max > 0)
        // Numbers that are too large for a double are infinite here, and their quotient is none.
        parts += Math.min(1, Math.max(0, value / max || 0));
    }
    return parts;
  }
}

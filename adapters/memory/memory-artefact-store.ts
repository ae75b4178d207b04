import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit } from '../../core/paging.js';
import type { Artefact } from '../../core/people/person.js';
import type { ArtefactKey, ArtefactStore } from '../../core/ports/stores.js';
import { frozenCopy } from './frozen-copy.js';

/** Artefacts in this process's memory; gone when the process ends. */
export class MemoryArtefactStore implements ArtefactStore {
  private readonly artefacts = new Map<string, Artefact>();
  private readonly endedGroups = new Map<string, { readonly at: number; readonly removeAt: number }>();

  async put(artefact: Artefact): Promise<'kept' | 'ended'> {
    const current = this.artefacts.get(keyOf(artefact));
    if (current !== undefined && !isUsable(current)) return 'ended';
    const ended = artefact.group === undefined ? undefined : this.endedGroups.get(artefact.group);
    this.keep(ended === undefined ? artefact : { ...artefact, endedAt: ended.at });
    return ended === undefined ? 'kept' : 'ended';
  }

  async find(key: ArtefactKey, call?: Cancellation): Promise<Artefact | null> {
    throwIfAborted(call);
    return this.artefacts.get(keyOf(key)) ?? null;
  }

  async findByAlias(kind: string, alias: string): Promise<Artefact | null> {
    const found = [...this.artefacts.values()].filter((one) => one.kind === kind && one.alias === alias);
    return found.sort(byAge)[0] ?? null;
  }

  async consume(key: ArtefactKey, at: number): Promise<'consumed' | 'refused'> {
    const current = this.artefacts.get(keyOf(key));
    if (current === undefined || !isUsable(current)) return 'refused';
    this.keep({ ...current, consumedAt: at });
    return 'consumed';
  }

  async end(key: ArtefactKey, at: number): Promise<void> {
    const current = this.artefacts.get(keyOf(key));
    if (current !== undefined && current.endedAt === undefined) this.keep({ ...current, endedAt: at });
  }

  async endGroup(group: string, at: number, removeAt: number): Promise<void> {
    if (!this.endedGroups.has(group)) this.endedGroups.set(group, { at, removeAt });
    for (const artefact of this.artefacts.values()) {
      if (artefact.group === group && artefact.endedAt === undefined) this.keep({ ...artefact, endedAt: at });
    }
  }

  async listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]> {
    return [...this.artefacts.values()]
      .filter((artefact) => artefact.kind === kind && artefact.owner === owner)
      .sort(byAge)
      .slice(0, checkedLimit(limit));
  }

  async remove(key: ArtefactKey): Promise<void> {
    this.artefacts.delete(keyOf(key));
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const due = [...this.artefacts].filter(([, { removeAt }]) => removeAt <= now).slice(0, checkedLimit(limit));
    for (const [key] of due) this.artefacts.delete(key);
    const groups = [...this.endedGroups].filter(([, { removeAt }]) => removeAt <= now).slice(0, limit - due.length);
    for (const [group] of groups) this.endedGroups.delete(group);
    return due.length + groups.length;
  }

  private keep(artefact: Artefact): void {
    this.artefacts.set(keyOf(artefact), frozenCopy(artefact));
  }
}

function keyOf({ kind, id }: ArtefactKey): string {
  return `${kind}:${id}`;
}

/** The newest first. */
function byAge(a: Artefact, b: Artefact): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1);
}

function isUsable({ consumedAt, endedAt }: Artefact): boolean {
  return consumedAt === undefined && endedAt === undefined;
}

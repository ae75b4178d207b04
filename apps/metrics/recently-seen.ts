/** What was noted last of so many ids; the oldest is forgotten first. */
export class RecentlySeen<Note> {
  private readonly notes = new Map<string, Note>();

  constructor(private readonly limit: number) {}

  /** Answers whether something was noted of this id before. */
  note(id: string, note: Note): boolean {
    const wasThere = this.notes.delete(id);
    this.notes.set(id, note);
    const [oldest] = this.notes.size > this.limit ? this.notes.keys() : [];
    if (oldest !== undefined) this.notes.delete(oldest);
    return wasThere;
  }

  /** Answers what was noted. */
  forget(id: string): Note | undefined {
    const note = this.notes.get(id);
    this.notes.delete(id);
    return note;
  }
}

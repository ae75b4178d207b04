/** The last references of some kind, up to a number of them. */
export class RecentReferences {
  private readonly references = new Set<string>();

  constructor(private readonly most: number) {}

  has(reference: string): boolean {
    return this.references.has(reference);
  }

  add(reference: string): void {
    this.references.delete(reference);
    this.references.add(reference);
    if (this.references.size <= this.most) return;
    for (const oldest of this.references) {
      this.references.delete(oldest);
      return;
    }
  }
}

import type { ComponentChildren } from 'preact';

export interface CardProps {
  readonly id: string;
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A titled part of a section. Its heading can take the focus when what had it is gone. */
export function Card({ id, title, note, children }: CardProps) {
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {note === undefined ? null : <p class="quiet">{note}</p>}
      </header>
      {children}
    </section>
  );
}

/** Moves the focus to a heading, once the page is drawn. */
export function focusOn(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

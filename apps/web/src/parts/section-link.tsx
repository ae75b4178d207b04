import type { ComponentChildren } from 'preact';
import { goTo, hrefOf, type SectionName } from '../router.js';

interface SectionLinkProps {
  readonly name: SectionName;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a section of the page, which needs no other page for it. With a key held down browsers do what they do. */
export function SectionLink({ name, isCurrent = false, children }: SectionLinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(name);
  };
  return (
    <a href={hrefOf(name)} aria-current={isCurrent ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}

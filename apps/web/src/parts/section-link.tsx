import type { ComponentChildren } from 'preact';
import { hrefOf, type SectionName, type Within } from '../router.js';
import { PageLink } from './page-link.js';

interface SectionLinkProps extends Within {
  readonly name: SectionName;
  readonly isCurrent?: boolean;
  readonly class?: string;
  /** The label for screen readers, where the visible text does not say where it leads. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link to a section of the page, or to something in it. */
export function SectionLink({ name, id, query = {}, children, ...link }: SectionLinkProps) {
  return (
    <PageLink href={hrefOf(name, { id, query })} {...link}>
      {children}
    </PageLink>
  );
}

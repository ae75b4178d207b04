import type { ComponentChildren } from 'preact';
import { hrefOf, type SectionName } from '../router.js';
import { PageLink } from './page-link.js';

interface SectionLinkProps {
  readonly name: SectionName;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a section of the page. */
export function SectionLink({ name, isCurrent = false, children }: SectionLinkProps) {
  return (
    <PageLink href={hrefOf(name)} isCurrent={isCurrent}>
      {children}
    </PageLink>
  );
}

import { signal } from '@preact/signals';

const BASE = '/console/';

export interface SectionLink {
  readonly name: string;
  readonly title: string;
}

/** The sections of the page, as they stand in its navigation. */
export const SECTIONS = [
  { name: 'api-and-mcp', title: 'API and MCP' },
  { name: 'credits', title: 'Credits' },
  { name: 'sign-in', title: 'Sign-in' },
] as const satisfies readonly SectionLink[];

export type SectionName = (typeof SECTIONS)[number]['name'];

/** The address of a section. */
export function hrefOf(name: SectionName): string {
  return BASE + name;
}

/** The section that the address names. */
export const section = signal<SectionName>(sectionOf(window.location.pathname));

/** Whether the person went to the section within the page, whose heading then gets the focus. */
export const hasMoved = signal(false);

export function goTo(name: SectionName): void {
  window.history.pushState(null, '', hrefOf(name));
  show();
}

window.addEventListener('popstate', show);

function show(): void {
  hasMoved.value = true;
  section.value = sectionOf(window.location.pathname);
}

function sectionOf(path: string): SectionName {
  return SECTIONS.find(({ name }) => hrefOf(name) === path)?.name ?? SECTIONS[0].name;
}

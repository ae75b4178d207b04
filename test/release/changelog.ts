/** The parts of CHANGELOG.md, in the form of Keep a Changelog. */
export interface Section {
  /** `Unreleased` or a version. */
  readonly title: string;
  readonly date: string | undefined;
  readonly text: string;
}

/** All sections, the newest first. */
export function sectionsOf(changelog: string): readonly Section[] {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [head = '', ...lines] = part.split('\n');
      const [, title = '', date] = /^\[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?\s*$/.exec(head) ?? [];
      if (title === '')
        throw new Error(`CHANGELOG.md has the heading "## ${head}", which is not "## [version] - date".`);
      return { title, date, text: lines.join('\n').trim() };
    });
}

/** The section of a version, or of what is not released yet. Throws a sentence if there is none. */
export function sectionOf(changelog: string, title: string): Section {
  const found = sectionsOf(changelog).find((section) => section.title === title);
  if (found === undefined) throw new Error(`CHANGELOG.md has no section [${title}].`);
  return found;
}

/** The text of a section under "### Breaking", or an empty text. */
export function breakingOf({ text }: Section): string {
  const [, after = ''] = /^### Breaking\n([\s\S]*?)(?=^### |$(?![\s\S]))/m.exec(text) ?? [];
  return after.trim();
}

/** The changelog with what was not released as the section of a version, below an empty one. Throws if it is empty. */
export function cutChangelog(changelog: string, version: string, date: string): string {
  const { text } = sectionOf(changelog, 'Unreleased');
  if (text === '') throw new Error('CHANGELOG.md says nothing under [Unreleased], so there is nothing to release.');
  if (sectionsOf(changelog).some(({ title }) => title === version))
    throw new Error(`CHANGELOG.md has a section [${version}] already.`);
  return changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${date}\n`);
}

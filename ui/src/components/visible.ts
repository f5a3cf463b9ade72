/**
 * A text of somebody else as a user can check it before agreeing to it: nothing in it hides.
 * Deliberately absent: any judgement about what it says.
 */

/** A stretch of a text; one that cannot be seen is written as its number. */
export interface Piece {
  text: string;
  hidden: boolean;
}

// Controls, formats such as the ones that turn the direction, and the selectors that can carry a message of their own.
const UNSEEN = /((?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u{fe00}-\u{fe0e}\u{e0100}-\u{e01ef}])/u;

/** A text as a user can check it: nothing in it hides, and nothing changes the order of what stands around it. */
export function visible(text: string): Piece[] {
  return text.split(UNSEEN).flatMap((part, at): Piece[] => {
    if (part === "") return [];
    if (at % 2 === 0) return [{ text: part, hidden: false }];
    const number = (part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return [{ text: `U+${number}`, hidden: true }];
  });
}

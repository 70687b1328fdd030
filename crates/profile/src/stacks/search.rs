//! Looking for the caller in the copy of the stack, where it does not follow from the registers: since the frame pointer is not
//! known, or since what is said of a function is wrong.

use std::ops::Range;

use super::call::Call;
use super::space::Image;
use super::walk::{BP, Frame, Walk};

/// So many searches may follow from each other: code that is described wrongly, then a frame pointer that it has lost.
const MAXIMUM_SEARCHES: u32 = 3;
/// Steps of all walks of a search together.
const BUDGET: u32 = 4000;
/// Places of a kind that are tried from one frame on.
const MAXIMUM_TRIED: usize = 96;

/// What a call that returns to a place says of the function that got stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It calls that function, or one that ends with a jump into it.
    Sure,
    /// It calls what a register, memory or the loader says.
    Possible,
    /// It calls another function. What a function left behind looks like that, but so does a chain of jumps.
    Unlikely,
}

/// A function, and where it is loaded.
struct Function {
    image: Image,
    /// In the addresses of its file.
    bounds: Range<u64>,
}

impl Walk<'_> {
    /// Goes on from where it got stuck; true if it came to the begin of the thread. Otherwise `path` is as it was.
    pub(super) fn search(&mut self, stuck: &Frame, path: &mut Vec<u64>) -> bool {
        self.is_strict = true;
        // One search that suffices is likelier right than two.
        (1..=MAXIMUM_SEARCHES).any(|searches| {
            self.budget = BUDGET;
            self.search_within(stuck, path, searches)
        })
    }

    fn search_within(&mut self, stuck: &Frame, path: &mut Vec<u64>, searches: u32) -> bool {
        let function = self.function_of(stuck);
        [Fit::Sure, Fit::Possible, Fit::Unlikely]
            .into_iter()
            .any(|fit| self.search_for(fit, stuck, function.as_ref(), path, searches))
    }

    fn search_for(
        &mut self,
        fit: Fit,
        stuck: &Frame,
        function: Option<&Function>,
        path: &mut Vec<u64>,
        searches: u32,
    ) -> bool {
        let start = stuck.stack_pointer();
        let mut tried = 0;
        for place in self.stack.words_from(start) {
            if tried == MAXIMUM_TRIED || self.budget == 0 {
                break;
            }
            let Some(word) = self.stack.word(place) else { break };
            if self.fit(word, function) != Some(fit) {
                continue;
            }
            tried += 1;
            // Functions push the frame pointer first: it is below the return address.
            if stuck.get(BP).is_none() && place - start >= 8 {
                let mut frame = *stuck;
                frame.set(BP, place - 8);
                if self.leads_on(frame, None, path, searches) {
                    return true;
                }
            }
            if self.leads_on(Frame::caller(place + 8, word), Some(word), path, searches) {
                return true;
            }
        }
        false
    }

    /// True if the begin of the thread is found from a frame on, whose address is added first.
    fn leads_on(&mut self, frame: Frame, address: Option<u64>, path: &mut Vec<u64>, searches: u32) -> bool {
        let depth = path.len();
        path.extend(address);
        let is_found = match self.run(frame, path) {
            None => true,
            Some(stuck) => searches > 1 && self.budget > 0 && self.search_within(&stuck, path, searches - 1),
        };
        if !is_found {
            path.truncate(depth);
        }
        is_found
    }

    fn function_of(&self, frame: &Frame) -> Option<Function> {
        let image = self.space.code_at(frame.inside())?;
        let frames = &self.files.get(image.file).frames;
        let bounds = frames.function(frame.inside().wrapping_sub(image.bias))?;
        Some(Function {
            image: image.clone(),
            bounds,
        })
    }

    /// How well a word of the stack fits as what a function returns to; nothing if no call is before that.
    fn fit(&mut self, word: u64, function: Option<&Function>) -> Option<Fit> {
        let image = self.space.code_at(word.wrapping_sub(1))?;
        let file = self.files.get_mut(image.file);
        let Call::Direct(target) = file.call_before(word.wrapping_sub(image.bias))? else {
            return Some(Fit::Possible);
        };
        if file.is_stub(target) {
            return Some(Fit::Possible);
        }
        let is_sure = function.is_some_and(|function| {
            let is_same_file = function.image.file == image.file && function.image.bias == image.bias;
            is_same_file && (function.bounds.contains(&target) || file.jumps_into(target, &function.bounds))
        });
        Some(if is_sure { Fit::Sure } else { Fit::Unlikely })
    }
}

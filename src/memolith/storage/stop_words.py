"""Words of a query that say nothing about what is looked for."""

ENGLISH = frozenset(
    "a an the and or but if of at by for with about to from in on is are was were be been "
    "do does did have has had i you he she it we they me him her us them my your his its "
    "our their this that what when where who whom which why how s t".split()
)
RUSSIAN = frozenset(
    "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее "
    "её мне было вот от меня о из ему когда ли если уже или быть был была были до вас нас "
    "для мы их чем мой моя мои наш наша наши где кто какой какая какое какие каком какую "
    "каким сколько почему зачем это этот эта эти при под над об та те чей".split()
)
GREEK = frozenset(
    "ο η το οι τα του της των τον την τους τις και κι να με σε στο στη στην στον στα στις "
    "στους από για που πως πώς ότι τι πού πότε πόσο πόσα πόσες πόσοι ποιος ποια ποιο "
    "ποιον ποιες γιατί είναι ήταν έχει έχω έχουν θα δεν μου σου μας σας ένα ένας μια μία "
    "κατά προς ως".split()
)
ARABIC = frozenset(
    "في من على إلى الى عن مع ما ماذا متى أين اين كيف كم لماذا هل أي اي هو هي هم التي الذي "
    "الذين هذا هذه ذلك تلك و أو او ثم أن ان إن كان كانت قد لا لم لن ممن بماذا لي لنا".split()
)
HINDI = frozenset(
    "का के की को से में पर ने और या है हैं था थे थी हो क्या कब कहाँ कहां कौन किस किसने "
    "किसे किसके कितना कितने कितनी कैसे कैसा क्यों यह वह ये वे इस उस हम मैं तुम आप मेरा "
    "मेरी मेरे हमारा हमारी हमारे सा सी".split()
)
VIETNAMESE = frozenset(
    "là gì của và có những các một nào được đã này với không thì mà để từ "
    "rồi sẽ đâu nhiêu mấy vì".split()
)
TURKISH_STOP_WORDS = frozenset(
    "ve ile bir bu şu o ne kim hangi kaç nasıl neden niçin nerede nereye nedir mi mı mu "
    "mü için de da ki en çok kadar gibi var yok ya hem".split()
)
"""Most of these have no letter of their own, so they count in Turkish queries only."""

STOP_WORDS = ENGLISH | RUSSIAN | GREEK | ARABIC | HINDI | VIETNAMESE
"""Each of those in other languages has a letter that English does not have."""
